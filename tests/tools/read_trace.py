"""Reads a file of `belay trace` without any of Belay's code, and checks what every such file has to be.

read_trace.py FILE: prints a line for each slice ("track: name", two spaces deeper for each slice that it lies in), arrow
("arrow: name -> name") and instant, and "open" for slices that have no end; for a counter the most and the last value; fails
where slices do not nest.
"""
import struct
import sys
from collections import Counter, defaultdict


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at, found = 0, defaultdict(list)
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found[tag >> 3].append(value)
    return found


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def read(path):
    tracks, names, events = {}, {}, []
    for order, packet in enumerate(fields(open(path, "rb").read())[1]):
        packet = fields(packet)
        sequence = packet[10]
        for data in packet[60]:
            track = fields(data)
            thread = [fields(t)[5][0] for t in track[4]]
            tracks[track[1][0]] = (track[2] or thread or [b"process"])[0].decode(), (track[5] or [None])[0]
        for data in packet[12]:
            for name in fields(data)[2]:
                name = fields(name)
                names[sequence[0], name[1][0]] = name[2][0].decode()
        for data in packet[11]:
            event = fields(data)
            name = names[sequence[0], event[10][0]] if event[10] else None
            events.append((packet[8][0], order, event[11][0], event[9][0], name, event[47] + event[48], event[30]))
    return tracks, sorted(events)


def main(path):
    tracks, events = read(path)
    stacks, arrows, lines, last = defaultdict(list), defaultdict(list), Counter(), {}
    counters = defaultdict(list)
    for time, _, track, kind, name, flows, value in events:
        assert track in tracks, f"a track without a name: {track}"
        assert tracks[track][1] is None or tracks[track][1] in tracks
        assert time > last.get(track, 0), "two events of a track at one time"
        last[track] = time
        if kind == COUNTER:
            counters[track] += value
            continue
        if kind == END:
            stacks[track].pop()
            continue
        lines[f"{tracks[track][0]}: {'  ' * len(stacks[track])}{name}"] += 1
        for flow in flows:
            arrows[flow].append(name)
        if kind == BEGIN:
            stacks[track].append(name)
        else:
            assert kind == INSTANT, kind
    for track, names in stacks.items():
        lines.update(f"open: {tracks[track][0]}: {name}" for name in names)
    for track, values in counters.items():
        lines[f"counter: {tracks[track][0]}: {max(values)}, then {values[-1]}"] += 1
    for ends in arrows.values():
        assert len(ends) <= 2, f"an arrow with {len(ends)} ends"
        if len(ends) == 2:
            lines[f"arrow: {ends[0]} -> {ends[1]}"] += 1
    for line, count in sorted(lines.items()):
        print(f"{count} {line}")


main(sys.argv[1])
