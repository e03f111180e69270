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

"""What the simulated robot is made of, as parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node

from .parameters import declare, declare_choice, declare_per_joint
from ..simulation import ElasticJoint, Sensors
from ..simulation.schemes import SCHEMES

#: what may go wrong with the sensors, see Simulator.publish
FAULTS = ('none', 'nan', 'frozen', 'silent')
#: numbers beyond this stand for none in a parameter's range
LARGE = 1e9


def declare_start(node: Node, robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """Declare positions and velocities at the start and return them."""
    ranges = zip(robot.limits.lower.tolist(), robot.limits.upper.tolist())
    q = declare_per_joint(
        node, 'initial_positions.{joint}', robot.joint_names,
        [0.0 if low <= 0.0 <= high else 0.5 * (low + high) for low, high in ranges],
        'position at the start in rad or m; 0, or the middle where 0 is beyond the limits',
        -1e6, 1e6)
    v = declare_per_joint(node, 'initial_velocities.{joint}', robot.joint_names, 0.0,
                          'velocity at the start in rad/s or m/s', -1e6, 1e6)
    return np.array(q), np.array(v)


def declare_physics(node: Node, robot: Any) -> dict[str, Any]:
    """Declare the joint physics and return the options of Simulation; defaults are the URDF's."""
    joints = robot.joint_names

    def each(name: str, defaults: Any, description: str, upper: float = LARGE) -> np.ndarray:
        values = defaults if isinstance(defaults, float) else np.asarray(defaults).tolist()
        return np.array(declare_per_joint(node, f'physics.{name}.{{joint}}', joints, values,
                                          description, 0.0, upper))

    stiffness = each('elasticity', 0.0, 'stiffness of the gear in N m/rad or N/m, 0: rigid')
    motor = each('motor_inertia', np.array(robot._programs.tree.rotor),
                 "the motor's inertia behind the gear in kg m^2 or kg, for elastic joints")
    return {
        'integrator': declare_choice(node, 'physics.integrator', 'rk4', 'integration scheme',
                                     (*SCHEMES, 'adaptive')),
        'damping': each('damping', robot.damping, 'viscous friction in N m s/rad or N s/m'),
        'friction': each('friction', robot.friction, 'Coulomb friction in N m or N'),
        'stiction': each('stiction', 0.0, 'friction that holds a joint at rest in N m or N; less '
                         'than the Coulomb friction: that one'),
        'stribeck_velocity': declare(
            node, 'physics.stribeck_velocity', 0.01,
            'speed in rad/s or m/s at which stiction has faded into Coulomb friction', 1e-6, 1e3),
        'rotor_inertia': declare(node, 'physics.rotor_inertia', True,
                                 'rotors of the URDF add their inertia'),
        'stops': declare(node, 'physics.stops', True, 'joints end at the limits of the URDF'),
        'restitution': declare(node, 'physics.restitution', 0.0,
                               'share of the speed that a stop gives back', 0.0, 1.0),
        'torque_limits': declare(node, 'physics.torque_limits', True,
                                 'drives give no more than the effort limits of the URDF'),
        'no_load_speed': declare(node, 'physics.no_load_speed', False,
                                 "a drive's torque falls to zero at the URDF's velocity limit"),
        'command_delay': declare(node, 'physics.command_delay', 0,
                                 'steps until a command acts', 0, 1000),
        'elastic': {name: ElasticJoint(k, motor_inertia=J or None)
                    for name, k, J in zip(joints, stiffness.tolist(), motor.tolist()) if k > 0.0},
    }


def declare_mechanism(node: Node) -> dict[str, Any]:
    """Declare the physics of a robot with loops and return the options of Simulation."""
    return {
        'integrator': declare_choice(node, 'physics.integrator', 'rk4', 'integration scheme',
                                     ('rk4', 'semi_implicit_euler')),
        'damping': declare(node, 'physics.damping', True, 'viscous friction of the URDF acts'),
        'friction': declare(node, 'physics.friction', True, 'Coulomb friction of the URDF acts, '
                            'smoothed'),
    }


def declare_sensors(node: Node) -> Sensors:
    """Declare how the state is measured and return it; all off by default."""
    declare(node, 'sensors.fault', 'none',
            f'what is wrong with the joint states from now on: {", ".join(FAULTS)}',
            changeable=True)
    return Sensors(
        resolution=declare(node, 'sensors.resolution', 0.0, 'rad or m per count of the encoders',
                           0.0, 1.0),
        differences=declare(node, 'sensors.differences', False,
                            'velocities are differences of measured positions'),
        position_noise=declare(node, 'sensors.position_noise', 0.0,
                               'standard deviation of positions in rad or m', 0.0, 1.0),
        velocity_noise=declare(node, 'sensors.velocity_noise', 0.0,
                               'standard deviation of velocities in rad/s or m/s', 0.0, 10.0),
        delay=declare(node, 'sensors.delay', 0, 'steps by which states are late', 0, 1000),
        seed=declare(node, 'sensors.seed', 0, 'start of the random numbers', 0, 2**31 - 1))
