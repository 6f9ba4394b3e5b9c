"""The store as one sees it from outside: shared by replicas, away, back, back and empty."""
import json
import urllib.error

import pytest

from kit import http, message_error, page
from lib.procs import wait_until
from lib.redis import Redis

SALT = ['a salt of the tests']
PEERS = '127.0.0.1:0'


@pytest.fixture
def redis():
    with Redis() as one:
        yield one


@pytest.fixture
def up(fakes):
    return fakes('up', tool_names=['t%d' % i for i in range(5)], page_size=2)


@pytest.fixture
def replica(gateways, up, redis):
    return lambda **more: gateways({'up': http(up)}, salt_keys=SALT, store={'url': redis.url, **more}, peer_listen=PEERS)


def ready(gateway):
    """'' when ready, else the reason."""
    try:
        gateway.admin('/readyz')
        return ''
    except urllib.error.HTTPError as error:
        assert error.code == 503
        return error.read().decode()


def until_ready(gateway):
    wait_until(lambda: ready(gateway) == '', what='readiness')


def test_a_cursor_of_one_replica_is_good_on_another(replica, hosts, redis):
    a, b = replica(), replica()
    until_ready(a), until_ready(b)
    first = json.loads(page(hosts(a.server_url('up')).open()).result())
    then = json.loads(page(hosts(b.server_url('up')).open(), cursor=first['nextCursor']).result())
    assert [t['name'] for t in first['tools'] + then['tools']] == ['t0', 't1', 't2', 't3']
    assert all(key.startswith('sluice:') for key in redis.keys()) and redis.keys()
    for key in redis.keys():
        assert redis.ask('PTTL', key) > 0, key


def test_replicas_of_another_prefix_know_nothing_of_it(replica, hosts):
    a, b = replica(), replica(key_prefix='other:')
    until_ready(a), until_ready(b)
    first = json.loads(page(hosts(a.server_url('up')).open()).result())
    message_error(page(hosts(b.server_url('up')).open(), cursor=first['nextCursor']), code=-32602)


def test_readiness_follows_the_store_and_calls_do_not_need_it(replica, hosts, redis):
    gateway = replica(unready_after='300ms', timeout='300ms')
    until_ready(gateway)
    host = hosts(gateway.server_url('up')).open()
    cursor = json.loads(page(host).result())['nextCursor']
    redis.kill()
    wait_until(lambda: 'away' in ready(gateway), what='the store to count as away')
    assert host.say('t1').startswith('t1')
    message_error(page(host, cursor=cursor))
    redis.start()
    until_ready(gateway)
    assert json.loads(page(host, cursor=cursor).result())['tools'][0]['name'] == 't2'


def test_a_store_that_hangs_holds_nobody(replica, hosts, redis):
    gateway = replica(timeout='300ms')
    until_ready(gateway)
    host = hosts(gateway.server_url('up')).open()
    cursor = json.loads(page(host).result())['nextCursor']
    redis.freeze()
    try:
        message_error(page(host, cursor=cursor))
    finally:
        redis.thaw()
    wait_until(lambda: '"result"' in page(host, cursor=cursor).final(), what='the store to be used again')


def test_a_store_that_comes_back_empty_makes_cursors_list_again(gateways, up, hosts):
    with Redis(appendonly='no') as redis:
        gateway = gateways({'up': http(up)}, salt_keys=SALT, store=redis.url, peer_listen=PEERS)
        until_ready(gateway)
        host = hosts(gateway.server_url('up')).open()
        cursor = json.loads(page(host).result())['nextCursor']
        redis.kill()
        redis.start()
        # Its session is as gone as the cursor: the host initializes anew, and lists again.
        wait_until(lambda: page(host, cursor=cursor).status == 404, what='the store to be back')
        anew = hosts(gateway.server_url('up')).open()
        refused = page(anew, cursor=cursor).error()
        assert refused['code'] == -32602 and 'again' in refused['message']


def test_a_gateway_without_its_store_is_not_ready_and_says_so(gateways, up):
    with Redis() as redis:
        url = redis.url
    gateway = gateways({'up': http(up)}, store=url, peer_listen=PEERS)
    assert ready(gateway) == 'the store has not been reached yet\n'
    assert gateway.metrics()['sluice_store_up'] == 0


def test_a_password_is_never_shown(gateways, up):
    gateway = gateways({'up': http(up)}, peer_listen=PEERS,
                       store='redis://u:s3cret-of-the-store@127.0.0.1:1/0')
    wait_until(lambda: '"store"' in gateway.log, what='a word in the log')
    assert 's3cret' not in gateway.log + gateway.admin('/metrics') + ready(gateway)
