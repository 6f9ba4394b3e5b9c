"""The bench's numbers as text: on the terminal, and in docs/benchmarks.md."""
import datetime
import os
import platform
import re
import subprocess

GOALS = [('requests/s at 32 connections, JSON, against nginx', '≥ 0.70'),
         ('memory of an idle session beside the kernel\'s', '≤ 16 KiB'),
         ('ready after start', '≤ 100 ms')]


def machine():
    model = 'unknown processor'
    with open('/proc/cpuinfo') as f:
        found = re.search(r'model name\s*: (.*)', f.read())
        model = found[1] if found else model
    return '%s, %d cores, Linux %s, %s' % (model, len(os.sched_getaffinity(0)), platform.release(),
                                            datetime.date.today().isoformat())


def first_line(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else ''


def table(header, rows):
    widths = [max(len(str(r[i])) for r in [header, *rows]) for i in range(len(header))]

    def line(cells):
        return '| ' + ' | '.join(str(c).ljust(w) if i == 0 else str(c).rjust(w)
                                 for i, (c, w) in enumerate(zip(cells, widths))) + ' |'
    rule = '|' + '|'.join('-' * (w + 2) if i == 0 else '-' * (w + 1) + ':' for i, w in enumerate(widths)) + '|'
    return '\n'.join([line(header), rule, *map(line, rows)])


def load_table(cells):
    """cells: {(kind, connections, target): measured}."""
    rows = []
    for (kind, connections, target), m in cells.items():
        if target not in ('direct', 'nginx', 'sluice'):
            continue
        base = cells.get((kind, connections, 'nginx'))
        rows.append([kind, connections, target, '%.0f' % m['rate'],
                     '%.2f' % (m['rate'] / base['rate']) if base else '–',
                     '%.0f' % m['p50_us'], '%.0f' % m['p99_us'],
                     '%.1f' % m['cpu_us'] if m['cpu_us'] is not None else '–',
                     '%.1f' % (m['rss'] / 1048576) if m['rss'] else '–',
                     '%d' % m['fewest_notes'] if kind == 'sse' else '–', m['errors']])
    return table(['answers', 'connections', 'through', 'requests/s', '÷ nginx', 'p50 µs', 'p99 µs', 'CPU µs/request', 'RSS MiB',
                  'fewest notes', 'errors'], rows)


def store_table(cells):
    """What Redis costs: each against the memory store that is reached the same way."""
    rows = []
    for (kind, connections, target), m in cells.items():
        if target in ('direct', 'nginx', 'sluice'):
            continue
        base = cells['%s' % kind, connections, 'memory, balancer' if 'balancer' in target else 'memory']
        rows.append([kind, connections, target, '%.0f' % m['rate'], '%.2f' % (m['rate'] / base['rate']), '%.0f' % m['p50_us'],
                     '%.0f' % m['p99_us'], '%.1f' % m['cpu_us'], m['errors']])
    return table(['answers', 'connections', 'through', 'requests/s', '÷ memory', 'p50 µs', 'p99 µs', 'CPU µs/request', 'errors'], rows)


def facts_table(facts):
    return table(['what', 'measured', 'ratio'], facts)


def idle_table(idle):
    rows = [[m['sessions'], m['what'], m['through'], '%.1f' % (m['per_session'] / 1024), '%.1f' % (m['rss'] / 1048576),
             '%.1f' % m['seconds']] for m in idle]
    return table(['idle sessions', 'which', 'through', 'KiB each', 'RSS MiB', 'opened in s'], rows)


def goals(cells, idle, ready):
    """What was to be reached, and what was measured, whatever it is."""
    out = []
    pair = cells.get(('json', 32, 'sluice')), cells.get(('json', 32, 'nginx'))
    ratio = pair[0]['rate'] / pair[1]['rate'] if all(pair) else None
    each = [m['per_session'] / 1024 for m in idle if m['through'] == 'sluice' and m['what'] == 'host side only']
    measured = ['%.2f' % ratio if ratio else None, '%.1f KiB' % max(each) if each else None,
                '%.0f ms' % (ready * 1000) if ready is not None else None]
    reached = [ratio and ratio >= 0.7, each and max(each) <= 16, ready is not None and ready <= 0.1]
    for (what, goal), value, ok in zip(GOALS, measured, reached):
        out.append([what, goal, value or 'not measured', '–' if value is None else 'yes' if ok else 'no'])
    return table(['goal', 'to reach', 'measured', 'reached'], out)


def page(cells, idle, ready, shared, facts, nginx_conf, sluice_conf):
    text = """# Benchmarks

Written by `tests/bench/run --write`; not edited by hand. Every number is from one run on one machine:
{machine}.
{versions}. Load average before the run: {load_before}.

One loop each: a load generator, the upstream and what stands between share the cores, so the numbers compare, they do
not promise. Rounds alternate (direct, nginx, Sluice, direct, …); a cell is the median of {rounds} rounds of {seconds} s. Every
answer is checked for its id, its token and its content. `CPU` is the time of the process between, from `/proc/PID/stat`.

## Goals

{goals}

## Calls

`json`: an answer of about 200 bytes. `sse`: 100 progress notes, then the answer. `fewest notes`: how many notes the
worst-served call saw; under 100 means that newer progress replaced older that the host had not yet read.

{load}

## With a shared store

Redis (`appendonly yes`, `appendfsync everysec`) on the same two cores. `memory` is one gateway with the memory store; `redis ×3` are three
replicas, reached round robin through HAProxy, so that every session is served by all of them. A page is asked for by a Python host on one
connection, directly and through.

{store}

{shared}

## Idle sessions

Each has its own MCP session and an open GET stream. `KiB each` is what the resident memory of the process grew by, divided
by the sessions; memory of the kernel's sockets comes on top. "With an upstream session" means that each made one call before.

{idle}

## Readiness

Start of the process to the first 200 of `/readyz`: {ready}.

## Configurations

nginx, one worker:

```nginx
{nginx}
```

Sluice:

```json
{sluice}
```
"""
    return text.format(machine=machine(), versions=facts['versions'], load_before=facts['load'], rounds=facts['rounds'], seconds=facts['seconds'],
                       goals=goals(cells, idle, ready), load=load_table(cells), store=store_table(cells), shared=facts_table(shared), idle=idle_table(idle),
                       ready='not measured' if ready is None else '%.1f ms (median of %d)' % (ready * 1000, facts['starts']),
                       nginx=re.sub(r'/\S*/sluice-bench-\w+', 'RUN', nginx_conf.rstrip()), sluice=(sluice_conf or 'not run').rstrip())
