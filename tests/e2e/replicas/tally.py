"""What happened in a chaos run, counted by all its threads, and the table that it ends with."""
import threading


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
