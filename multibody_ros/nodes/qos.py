# Copyright 2026 multibody_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Quality of service of every topic (users.md, REP-2003).

Publishers are reliable, so that any subscriber can connect; the control loop's subscriptions are
best effort and keep only the newest message, because an old state or command is worth nothing.
"""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: joint_states and joint_commands, on the sending side
STREAM = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
#: joint_states and joint_commands, on the receiving side
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: robot_description
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
#: trajectories and other one-off requests
REQUEST = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
#: targets, of which the last one counts
TARGET = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
#: recordings: deep enough to lose nothing while another process has the processor
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
