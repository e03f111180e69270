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
Sticking, breaking away, hitting a stop: what happens between smooth stretches of motion.

A step is tried with the modes fixed, so that the motion is smooth and the integrator keeps its
order. Then it is judged:

- A held joint whose reaction exceeds what friction or stop can give breaks away; a joint that
  stands still and would be pushed the other way is held. Who sticks is one linear complementarity
  problem for all joints; one mode is changed at a time, the first that is wrong (Murty 1974: this
  ends, the mass matrix being positive definite), and the step is tried again.
- A velocity that changes its sign under friction, or a position beyond a stop, ends the step
  early: it is tried again up to there. Then the velocity is taken to zero, or thrown back by the
  stop, by an impulse on that joint; the kinetic energy it takes is counted.

So a velocity of zero is exactly zero and friction never does positive work.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from .forces import free_factors, geared
from .structure import Structure, WORK
from ..compiler.functions import sqrt, where
from ..dynamics.crba import mass_matrix
from ..dynamics.ltdl import solved
from ..model.tree import Tree

#: how near a stop counts as touching, in rad or m
TOUCH = 1e-9
#: a velocity this small, compared with those of the step, counts as zero when it vanishes
STILL = 1e-9
#: a reaction may exceed its bound by this much of it: rounding must not release a joint
SLACK = 1e-12
#: tries a step may take; after that it is accepted and the velocities are set right
TRIES = 1000
#: tries after which a joint that hits its stop does not bounce any more
BOUNCES = 300
#: a part of a step this small counts as none
MOMENT = 1e-9
#: things that may happen at one instant, one after the other
INSTANT = 100
#: the least part of a step that is tried when a stop ends it
SHORTER = 0.05
CATCH, HIT = 1.0, 2.0


def yes(a: Any, b: Any) -> Any:
    """Return 1 where `a` < `b`, else 0."""
    return where(a, b, 1.0, 0.0)


def either(*conditions: Any) -> Any:
    """Return 1 where any of the conditions is 1."""
    return yes(0.5, sum(conditions, 0.0))


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition is 1, else `b`."""
    return where(0.5, condition, a, b)


def absolute(x: Any) -> Any:
    """Return |x|."""
    return where(x, 0.0, -x, x)


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller one."""
    return where(a, b, a, b)


def bounds(s: Structure, values: SimpleNamespace, k: int, q: Any) -> tuple[Any, Any, Any, Any]:
    """Return the reactions that can hold a joint, and whether it touches a stop: low, high."""
    i = s.modal[k]
    friction = values.stiction[k] if i in s.dry else 0.0
    slack = SLACK * friction
    if i not in s.stopped:
        return -friction - slack, friction + slack, 0.0, 0.0
    low, high = yes(q, values.lower[k] + TOUCH), yes(values.upper[k] - TOUCH, q)
    return (-friction - slack - chosen(high, math.inf, 0.0),
            friction + slack + chosen(low, math.inf, 0.0), low, high)


def watch(s: Structure, values: SimpleNamespace, clock: Any, Q: Any, V: Any, m: Any, A: Any,
          reactions: Any, Q1: Any, V1: Any) -> Any:
    """Return 1 where the step cannot simply be accepted."""
    margin = math.inf
    for k, i in enumerate(s.modal):
        least, most, low, high = bounds(s, values, k, Q[s.position[i]])
        held = smaller(most - reactions[k], reactions[k] - least)
        moving = math.inf
        if i in s.dry:
            going_on = m[k] * V1[i] - STILL * (absolute(V[i]) + clock[0] * absolute(A[i]))
            moving = where(0.0, values.stiction[k], going_on, math.inf)
        if i in s.stopped:
            q = Q1[s.position[i]]
            moving = smaller(moving, smaller(values.upper[k] - TOUCH - q,
                                             q - values.lower[k] - TOUCH))
        margin = smaller(margin, where(m[k] * m[k], 0.5, held, moving))
    # what is exactly on its bound goes on as it is
    return where(0.0, clock[1], yes(margin, 0.0), 0.0)


def accept(clock: Any, Q: Any, V: Any, w: Any, Q1: Any, V1: Any, w1: Any) -> list[Any]:
    """Take over a step where there is one to take."""
    h, left, tries = clock
    active = yes(0.0, left)
    after = left - h
    state = [chosen(active, new, old) for new, old in zip([*Q1, *V1, *w1], [*Q, *V, *w])]
    return [*state, after, after, tries + 1.0]


def judge(s: Structure, values: SimpleNamespace, clock: Any, Q: Any, V: Any, m: Any, w: Any,
          A: Any, reactions: Any, Q1: Any, V1: Any, w1: Any) -> list[Any]:
    """Return Q, V, m, w, clock and what is to be done at once for each joint (CATCH, HIT, 0)."""
    h, left, tries = clock
    active, patient = yes(0.0, left), yes(tries, TRIES)
    wrong, modes = pivot(s, values, Q, V, m, A, reactions)
    wrong = wrong * active * patient
    part, at_once, after = 1.0, [], []
    for k, i in enumerate(s.modal):
        moving = m[k] * m[k]
        now = then = 0.0
        if i in s.dry:
            rough = yes(0.0, values.stiction[k]) * moving
            before, end, rise = m[k] * V[i], m[k] * V1[i], m[k] * A[i] * h
            still = STILL * (absolute(before) + absolute(rise))
            when = chosen(rough * yes(end, -still), _zero_of(before, rise, end), 1.0)
            part = smaller(part, when)
            now = chosen(yes(when, MOMENT), CATCH, now)
            then = chosen(rough * (1.0 - yes(still, end)), CATCH, then)
        if i in s.stopped:
            place = s.position[i]
            for side, bound in ((1.0, values.upper[k]), (-1.0, values.lower[k])):
                d0, d1 = side * (bound - Q[place]), side * (bound - Q1[place])
                v0, v1 = side * V[i], side * V1[i]
                touching = yes(d0, TOUCH) * yes(0.0, v0)
                crossing = yes(d1, -TOUCH) * yes(-TOUCH, d0)
                when = chosen(touching * moving, 0.0, chosen(
                    crossing * moving, _touch(d0, -v0 * h, d1, -v1 * h), 1.0))
                part = smaller(part, when)
                now = chosen(touching * moving, HIT, now)
                then = chosen(yes(d1, TOUCH) * yes(0.0, v1) * moving, HIT, then)
        at_once.append(now)
        after.append(then)
    short = yes(part, 1.0) * patient
    nothing = yes(part, MOMENT) * short
    stay = either(wrong, short, 1.0 - active)
    state = [chosen(stay, old, new) for old, new in zip([*Q, *V], [*Q1, *V1])]
    pending = [chosen(wrong, 0.0, chosen(nothing, now, chosen(short, 0.0, then))) * active
               for now, then in zip(at_once, after)]
    rest = chosen(stay, left, left - h)
    next_h = chosen(wrong, h, chosen(nothing, rest, chosen(short, part * h, rest)))
    # at rest within the moment: the rest of the step is tried anew after the impulse
    return [*state, *(chosen(wrong, new, old) for new, old in zip(modes, m)),
            *(chosen(stay, old, new) for old, new in zip(w, w1)),
            chosen(active, next_h, 0.0), rest, tries + 1.0, *pending,
            either(*(yes(0.5, x) for x in pending))]


def pivot(s: Structure, values: SimpleNamespace, Q: Any, V: Any, m: Any, A: Any,
          reactions: Any) -> tuple[Any, list[Any]]:
    """Change the first mode that contradicts the forces; return whether there was one."""
    found, modes = 0.0, []
    for k, i in enumerate(s.modal):
        least, most, low, high = bounds(s, values, k, Q[s.position[i]])
        held = 1.0 - m[k] * m[k]
        backward, forward = held * yes(most, reactions[k]), held * yes(reactions[k], least)
        # standing, but free: pushed against friction or stop it is to be held
        standing = (1.0 - held) * (1.0 - either(yes(V[i], 0.0), yes(0.0, V[i])))
        rough = yes(0.0, values.stiction[k]) * yes(m[k] * A[i], 0.0) if i in s.dry else 0.0
        back = standing * either(rough, high * yes(0.0, A[i]), low * yes(A[i], 0.0))
        wrong = either(backward, forward, back) * (1.0 - found)
        modes.append(chosen(wrong, chosen(backward, -1.0, chosen(forward, 1.0, 0.0)), m[k]))
        found = either(found, wrong)
    return found, modes


def _zero_of(e0: Any, rise: Any, e1: Any) -> Any:
    """Return where in 0..1 the parabola with e(0) = e0, e'(0) = rise, e(1) = e1 < 0 vanishes."""
    root = sqrt(_positive((rise + 2.0 * e0) * (rise + 2.0 * e0) - 4.0 * e0 * e1))
    falling = 2.0 * e0 / _not_zero(root - rise)
    rising = (rise + root) / _not_zero(2.0 * (rise + e0 - e1))
    return _part(where(0.0, rise, rising, falling))


def _touch(d0: Any, r0: Any, d1: Any, r1: Any) -> Any:
    """
    Return where in 0..1 the cubic with these ends and slopes, d1 < 0, vanishes.

    A joint on its way off the stop (r0 >= 0) comes back later: that zero is found from the end.
    """
    c2, c3 = 3.0 * (d1 - d0) - 2.0 * r0 - r1, 2.0 * (d0 - d1) + r0 + r1
    x = where(r0, 0.0, _part(d0 / _not_zero(d0 - d1)), 1.0)
    for _ in range(6):
        value = d0 + x * (r0 + x * (c2 + x * c3))
        slope = r0 + x * (2.0 * c2 + 3.0 * x * c3)
        x = _part(x - value / where(slope, -1e-300, slope, d1 - d0))
    # however wrong the cubic, a shorter step is better: never none at all
    return where(x, SHORTER, SHORTER, x)


def _part(x: Any) -> Any:
    return where(0.0, x, smaller(x, 1.0), 0.0)


def _positive(x: Any) -> Any:
    return where(0.0, x, x, 0.0)


def _not_zero(x: Any) -> Any:
    return where(1e-300, x, x, 1e-300)


def jump(tree: Tree, parameters: Any, s: Structure, values: SimpleNamespace, Q: Any, V: Any,
         m: Any, w: Any, pending: Any, clock: Any) -> list[Any]:
    """
    Do the first thing pending: an impulse that stops a joint or throws it back from its stop.

    The impulse p on joint i changes V by M^-1 e_i p and the energy by p (v_i + v_i') / 2. Joints
    that friction holds feel a hit (friction is too weak for an impulse), those at a stop do not.
    """
    first, found = [], 0.0
    for x in pending[:len(s.modal)]:
        first.append(yes(0.5, x) * (1.0 - found))
        found = either(found, first[-1])
    hit = either(*(f * yes(1.5, x) for f, x in zip(first, pending)))
    modes = []
    for k, i in enumerate(s.modal):
        _, _, low, high = bounds(s, values, k, Q[s.position[i]])
        fixed = (1.0 - m[k] * m[k]) * (1.0 - first[k]) * either(1.0 - hit, low, high)
        modes.append(1.0 - fixed)
    tree = geared(tree, s, values)
    unit: list[Any] = [0.0] * s.nV
    for k, i in enumerate(s.modal):
        unit[i] = first[k]
    free = free_factors(tree, s, mass_matrix(tree, parameters, Q[:s.nq]), modes)
    x = solved(free.factors, unit[:s.nv])
    x += [unit[s.nv + e] / inertia for e, inertia in enumerate(values.motor_inertia)]
    speed = sum((unit[i] * V[i] for i in s.modal), 0.0)
    mobility = sum((unit[i] * x[i] for i in s.modal), 0.0)
    bounce = sum((f * values.restitution[k] for k, f in enumerate(first)), 0.0)
    target = -hit * bounce * speed
    # bounces without end within one step have an end: the joint rests on its stop
    rests = either(yes(absolute(target), values.rest_speed[0]), yes(BOUNCES, clock[2]))
    target = chosen(rests, 0.0, target)
    impulse = found * (target - speed) / where(0.0, mobility, mobility, 1.0)
    V1 = [v + impulse * y for v, y in zip(V, x)]
    for k, i in enumerate(s.modal):
        V1[i] = chosen(first[k], target, V1[i])
    lost = -0.5 * impulse * (speed + target)
    after = []
    for k, i in enumerate(s.modal):
        sign = where(V1[i], 0.0, -1.0, where(0.0, V1[i], 1.0, m[k]))
        own = chosen(rests, 0.0, sign)
        after.append(chosen(first[k], own, chosen(hit * modes[k], sign, m[k])))
    works = list(w)
    works[WORK.index('stops')] = works[WORK.index('stops')] + hit * lost
    works[WORK.index('friction')] = works[WORK.index('friction')] + (1.0 - hit) * lost
    left = [chosen(f, 0.0, x) for f, x in zip(first, pending)]
    return [*V1, *after, *works, *left, either(*(yes(0.5, x) for x in left))]
