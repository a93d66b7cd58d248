"""Which connections stay when there are too many."""

from __future__ import annotations

from collections import Counter
from importlib import import_module

from hypothesis import given
from hypothesis import strategies as st

from service.served import Limits

module = import_module("condrank.service.connections")


class Fake:
    def __init__(self, name, unread=0):
        self.name, self.unread, self.is_open = name, unread, True

    def drop(self):
        self.is_open = False


def room_of(most, per_client):
    return module.Connections(Limits(connections=most, per_client=per_client))


def entered(room, client, n, works=False):
    found = [Fake(f"{client} {number}") for number in range(n)]
    for one in found:
        assert room.enter(one, client)
        if works:
            room.work(one)
    return found


def test_a_client_with_too_many_loses_the_one_that_waits_longest():
    room = room_of(10, 3)
    first, second, third = entered(room, "a", 3)
    (other,) = entered(room, "b", 1)
    room.wait(first)  # it asked again
    (fourth,) = entered(room, "a", 1)
    assert [one.is_open for one in (first, second, third, fourth, other)] == [True, False, True, True, True]
    assert (len(room), room.dropped) == (4, Counter(room=1))
    room.leave(second)  # its end comes later
    room.wait(second)
    assert len(room) == 4


def test_a_full_service_closes_one_of_the_client_that_has_most():
    room = room_of(5, 4)
    stalled, others = entered(room, "a", 4), entered(room, "b", 1)
    others += entered(room, "c", 1) + entered(room, "b", 1)
    assert [one.is_open for one in stalled] == [False, False, True, True]
    assert all(one.is_open for one in others)
    room = room_of(4, 4)
    first, second = entered(room, "a", 2), entered(room, "b", 2)
    entered(room, "b", 1)  # with it, this client has the most
    assert [one.is_open for one in first + second] == [True, True, False, True]


def test_complete_requests_are_never_dropped_and_what_finds_no_room_is_refused():
    room = room_of(4, 2)
    busy = entered(room, "a", 2, works=True) + entered(room, "b", 2, works=True)
    assert not room.enter(Fake("late"), "a")
    assert not room.enter(Fake("late"), "c")
    assert all(one.is_open for one in busy)
    assert (len(room), room.dropped) == (4, Counter(refused=2))
    room.wait(busy[0])
    assert room.enter(Fake("now"), "c")
    assert not busy[0].is_open


def test_answers_that_nobody_takes_are_dropped_oldest_first(monkeypatch):
    monkeypatch.setattr(module, "MOST_UNREAD", 100)
    room = room_of(10, 10)
    first, second, third = found = [Fake(str(number), 40) for number in range(3)]
    for one in found:
        assert room.enter(one, one.name)
        room.work(one)
    room.send(first)
    room.send(second)
    assert first.is_open
    room.send(third)
    assert [one.is_open for one in found] == [False, True, True]
    second.unread = 0  # taken meanwhile
    big = Fake("big", 50)
    assert room.enter(big, "big")
    room.send(big)
    assert second.is_open
    assert room.dropped == Counter(unread=1)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["enter", "wait", "work", "leave"]), st.integers(0, 9))),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_no_limit_is_ever_exceeded_and_a_client_below_its_share_keeps_what_it_has(steps, most, per_client):
    room, there = room_of(most, per_client), []  # (connection, client, whether it waits)

    def held(client):
        return [one for one in there if one[0].is_open and one[1] == client]

    for client, step, which in steps:
        if step == "enter":
            before = {name: len(held(name)) for name in "abc"}
            is_full, waiting = sum(before.values()) >= most, [one for one in there if one[0].is_open and one[2]]
            new = Fake(client)
            if room.enter(new, client):
                there.append([new, client, True])
                for name in "abc":
                    lost = before[name] - len(held(name)) + (name == client)
                    if lost:  # it had the most of those that could lose one, or too many of its own
                        others = {one[1] for one in waiting}
                        share = {other: before[other] + (other == client) for other in others}
                        assert lost == 1
                        assert before[client] >= per_client or (is_full and share[name] == max(share.values()))
            else:
                assert not any(one[2] for one in held(client)) if before[client] >= per_client else not waiting
        elif mine := held(client):
            one = mine[which % len(mine)]
            getattr(room, step)(one[0])
            one[2] = step != "work"
            if step == "leave":
                one[0].is_open = False
        assert len(room) == sum(one[0].is_open for one in there) <= most
        assert all(len(held(name)) <= per_client for name in "abc")
