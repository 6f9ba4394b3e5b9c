"""Who may come in: no key, a bad key, a key in each header; by path, header, both, empty header."""
import json

import pytest

from kit import http, key

GOOD, BAD = 'sk-good-CANARY', 'sk-bad-CANARY'
CREDENTIALS = {
    'none': ([], 401),
    'bad own header': ([('x-sluice-api-key', BAD)], 401),
    'bad other header': ([('x-litellm-api-key', BAD)], 401),
    'bad bearer': ([('Authorization', 'Bearer ' + BAD)], 401),
    'own header': ([('x-sluice-api-key', GOOD)], 200),
    'other header': ([('x-litellm-api-key', GOOD)], 200),
    'other header with bearer': ([('x-litellm-api-key', 'Bearer ' + GOOD)], 200),
    'bearer': ([('Authorization', 'Bearer ' + GOOD)], 200),
    'bearer in lower case': ([('authorization', 'bearer ' + GOOD)], 200),
    'own header wins over a foreign bearer': ([('x-sluice-api-key', GOOD), ('Authorization', 'Bearer other')], 200),
    'a bad own header is not saved by a bearer': ([('x-sluice-api-key', BAD), ('Authorization', 'Bearer ' + GOOD)], 401),
    'basic is no key': ([('Authorization', 'Basic ' + GOOD)], 401),
    'empty own header': ([('x-sluice-api-key', '')], 401),
    'the digest is not the key': ([('x-sluice-api-key', key('k', GOOD)['sha256'])], 401),
    'a key with more behind it': ([('x-sluice-api-key', GOOD + 'x')], 401),
}
TARGETS = {'aggregate': ('/mcp', None), 'path': ('/up/mcp', None), 'header': ('/mcp', 'up'), 'both': ('/up/mcp', 'up')}


@pytest.fixture(scope='module')
def guarded():
    from fake.server import HttpFake
    from lib.gateway import Gateway
    with HttpFake(name='up') as up:
        with Gateway({'mcp_servers': {'up': http(up)}, 'keys': [key('k', GOOD)]}) as gateway:
            yield up, gateway


@pytest.mark.parametrize('target', TARGETS)
@pytest.mark.parametrize('credential', CREDENTIALS)
def test_the_table_of_credentials(guarded, hosts, credential, target):
    up, gateway = guarded
    headers, status = CREDENTIALS[credential]
    path, servers = TARGETS[target]
    more = [('x-mcp-servers', servers)] if servers else []
    answer = hosts(gateway.base_url + path, headers=headers + more).initialize()
    assert answer.status == status
    if status == 401:
        assert answer.header('content-type').startswith('application/json')
        assert answer.header('www-authenticate').lower().startswith('bearer')
        body = answer.body()
        assert json.loads(body) and b'CANARY' not in body
        assert answer.session is None
    assert b'CANARY' not in b''.join(r.head for r in up.records)


@pytest.mark.parametrize('method', ['POST', 'GET', 'DELETE'])
def test_every_method_needs_a_key(guarded, hosts, method):
    host = hosts(guarded[1].mcp_url)
    body = host.text('ping') if method == 'POST' else None
    assert host.send(method, body, replace=[('Accept', 'text/event-stream, application/json')]).status == 401


def test_a_server_that_does_not_exist_is_not_told_without_a_key(guarded, hosts):
    base = guarded[1].base_url
    known, unknown = hosts(base + '/up/mcp').initialize(), hosts(base + '/nobody/mcp').initialize()
    assert known.status == unknown.status == 401 and known.body() == unknown.body()


def test_a_refused_request_reaches_no_upstream(guarded, hosts):
    up, gateway = guarded
    before = len(up.seen(rpc='tools/call'))
    assert hosts(gateway.server_url('up')).call('echo').status == 401
    assert len(up.seen(rpc='tools/call')) == before


def test_a_key_is_needed_for_health_of_nothing(guarded):
    assert guarded[1].admin('/healthz')


def test_the_log_names_the_key_and_never_shows_it(guarded, hosts):
    up, gateway = guarded
    hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', GOOD)]).open().call('echo').result()
    assert 'CANARY' not in gateway.log


def test_without_keys_loopback_is_open(gateways, fake, hosts):
    assert hosts(gateways({'up': http(fake)}).server_url('up')).open().call('echo').status == 200


def test_without_keys_another_address_is_refused_unless_written_out(fake):
    from lib.gateway import Gateway
    from lib.procs import ProcessDied
    with pytest.raises(ProcessDied) as refused:
        Gateway({'mcp_servers': {'up': http(fake)}, 'listen': '0.0.0.0:0'})
    assert 'auth' in str(refused.value)
