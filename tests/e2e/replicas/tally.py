"""What happened in a chaos run, counted by all its threads, and the table that it ends with."""
import threading
import time

from fake.host import Closed

PATIENCE = 45               # seconds in which anything must have come to an end
AGAIN = (429, 502, 503, 504)
BROKEN = (Closed, OSError, ValueError, IndexError)      # the connection, or what was read of it


class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {}
        self.bad = []               # (cell, what)

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + by

    def complain(self, cell, what):
        with self.lock:
            self.bad.append((cell, what))

    def until_served(self, who, what, send):
        """send() gives an answer or raises; it is tried again for as long as that is what we are told. None when the
        time is over (a complaint has been made)."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                answer = send()
            except TimeoutError:
                self.complain('hung hosts', '%s: %s: no answer' % (who, what))
                return None
            except BROKEN:
                self.count('connections lost')
                time.sleep(0.1)
                continue
            if answer.status not in AGAIN:
                return answer
            self.count('told to try again (%d)' % answer.status)
            answer.close()
            time.sleep(0.2)
        self.complain('hung hosts', '%s: %s: not served in %d s' % (who, what, PATIENCE))
        return None

    def table(self, cells, seed, most=None):
        """Prints it, at most so many complaints, and "N passed, N failed", one for each cell; the exit status."""
        for what, count in sorted(self.counts.items()):
            print('  %-55s %7d' % (what, count))
        for cell, what in self.bad[:most]:
            print('  %s: %s' % (cell, what))
        print('\nthe table (seed %d)' % seed)
        failed = 0
        for cell in cells:
            count = sum(1 for c, _ in self.bad if c == cell)
            failed += count > 0
            print('  %-40s %5d' % (cell, count))
        print('%d passed, %d failed' % (len(cells) - failed, failed))
        return 1 if failed else 0
