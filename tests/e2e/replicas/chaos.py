#!/usr/bin/env python3
"""The chaos run (issue 3 E2): hosts list, call, cancel and resume through a round-robin balancer while replicas are
killed -9 and restarted, Redis is restarted and stopped for ten seconds, and upstreams die. The upstreams count what
they execute. Ends with a table; a cell that is not zero fails. Seeded: the same seed gives the same blows.

    chaos.py [--seed N] [--seconds 100] [--hosts 12] [--replicas 3]

Its last line is "N passed, N failed", one for each cell.
"""
import argparse
import os
import random
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

from lib.procs import stop_all_on_sigterm                   # noqa: E402
from kit import http                                        # noqa: E402

from chaos_hosts import Ledger, Worker                      # noqa: E402
from cluster import Cluster                                 # noqa: E402
from counted import TOOLS, Counted                          # noqa: E402
from tally import PATIENCE                                  # noqa: E402

CELLS = ('lost listings', 'lost sessions', 'duplicate executions', 'hung hosts', 'calls without result or error',
         'replicas that ended badly', 'things that did not happen')
# What a run must have met, or it has proved nothing.
WANTED = ('listings read to the end', 'calls: a result', 'streams resumed', 'cancels acknowledged', 'kill -9 of a replica',
          'Redis stopped for 10 s', 'Redis restarted', 'upstream died')


class Blows:
    """What goes wrong, one thing after another, so that each is seen to heal; some at the same time."""

    def __init__(self, cluster, ups, seed, ledger, say):
        self.cluster, self.ups, self.ledger, self.say = cluster, ups, ledger, say
        self.dice = random.Random('%s blows' % seed)
        self.long_stop_due = True

    def pause(self, low, high):
        time.sleep(self.dice.uniform(low, high))

    def kill_replica(self):
        up = [r for r in self.cluster if r.up]
        several = self.dice.random() < 0.25
        hit = self.dice.sample(up, 2 if several and len(up) > 2 else 1)
        for replica in hit:
            self.say('kill -9 of replica %d' % replica.number)
            replica.kill()
            self.ledger.count('kill -9 of a replica')
        # Before its lease is over, about then, and well after.
        self.pause(*self.dice.choice([(0.0, 0.3), (1.5, 3.0), (4.0, 6.0)]))
        for replica in hit:
            replica.start()

    def stop_replica(self):
        replica = self.dice.choice([r for r in self.cluster if r.up])
        self.say('SIGTERM to replica %d' % replica.number)
        replica.stop()
        self.ledger.count('SIGTERM to a replica')
        self.pause(0.1, 1)
        replica.start()

    def restart_redis(self):
        self.say('restart of Redis')
        self.cluster.redis.kill() if self.dice.random() < 0.5 else self.cluster.redis.stop()
        self.cluster.redis.start()
        self.ledger.count('Redis restarted')

    def stop_redis(self):
        self.say('Redis stopped for 10 s')
        self.cluster.redis.stop()
        time.sleep(10)
        self.cluster.redis.start()
        self.ledger.count('Redis stopped for 10 s')

    def kill_upstream(self):
        up = self.dice.choice(self.ups)
        self.say('upstream %s dies' % up.name)
        up.stop()
        self.pause(0.3, 3)
        up.restart()
        self.ledger.count('upstream died')

    def run(self, until):
        # Each once, in any order, and then at random.
        first = [self.kill_replica, self.restart_redis, self.stop_redis, self.kill_upstream, self.kill_replica]
        self.dice.shuffle(first)
        often = [self.kill_replica] * 6 + [self.restart_redis] + [self.kill_upstream] * 2 + [self.stop_replica]
        while time.monotonic() < until or first:
            self.pause(1, 4)
            (first.pop() if first else self.dice.choice(often))()


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=int.from_bytes(os.urandom(2), 'big'))
    parser.add_argument('--seconds', type=float, default=100)
    parser.add_argument('--hosts', type=int, default=12)
    parser.add_argument('--replicas', type=int, default=3)
    return parser.parse_args(argv)


def run(options, say):
    ledger, stop = Ledger(), threading.Event()
    more = ['t%02d' % i for i in range(20)]
    ups = [Counted('one', more_tools=more, page_size=5).start(), Counted('two', event_ids=False, more_tools=more, page_size=9).start()]
    items = {up.name: [*TOOLS, *more] for up in ups}
    cluster = Cluster({up.name: http(up) for up in ups}, count=options.replicas, lease='2s', timeouts={'call': '30s'},
                      circuit={'open_for': '1s'})
    try:
        workers = [Worker(i, cluster.url(), options.seed, ledger, stop, items) for i in range(options.hosts)]
        for worker in workers:
            worker.start()
        Blows(cluster, ups, options.seed, ledger, say).run(time.monotonic() + options.seconds)
        say('no more blows; the hosts end what they have begun')
        stop.set()
        until = time.monotonic() + 2 * PATIENCE
        for worker in workers:
            worker.join(max(0.1, until - time.monotonic()))
            if worker.is_alive():
                ledger.complain('hung hosts', '%s: %s, for %d s' % (worker.name, worker.doing, time.monotonic() - worker.since))
    finally:
        problems = cluster.close()
        for up in ups:
            up.stop()
    for problem in problems:
        ledger.complain('replicas that ended badly', problem)
    for up in ups:
        for key in up.doubled():
            ledger.complain('duplicate executions', '%s: %d times' % (key, up.executed[key]))
    executed = sum(up.executed[k] for up in ups for k in up.executed)
    ledger.count('calls sent', len(ledger.started))
    ledger.count('calls executed', executed)
    for what in WANTED:
        if not ledger.counts.get(what):
            ledger.complain('things that did not happen', what)
    return ledger


def main(argv):
    options = parse(argv)
    stop_all_on_sigterm()
    begun = time.monotonic()

    def say(text):
        print('%6.1f s  %s' % (time.monotonic() - begun, text), flush=True)
    say('seed %d, %d hosts, %d replicas, %d s' % (options.seed, options.hosts, options.replicas, options.seconds))
    ledger = run(options, say)
    print('\nwhat happened')
    return ledger.table(CELLS, options.seed)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
