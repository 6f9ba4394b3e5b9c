"""Ports for servers that stop and come back: they must keep their port, so it cannot be one that the kernel
hands to whoever connects somewhere meanwhile. Taken outside the ephemeral range, and looked at first."""
import random
import socket

_taken = set()


def ephemeral():
    with open('/proc/sys/net/ipv4/ip_local_port_range') as f:
        low, high = map(int, f.read().split())
    return low, high


def fixed_port():
    low, high = ephemeral()
    choice = [p for p in range(10000, 65000) if not low <= p <= high]
    for port in random.SystemRandom().sample(choice, 200):
        if port in _taken:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
            except OSError:
                continue
        _taken.add(port)
        return port
    raise AssertionError('no free port found')


def open_port(port):
    """Whether something listens there."""
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        return True
    except OSError:
        return False
