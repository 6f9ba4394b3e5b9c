"""`sluice gen-salt`: what it prints can stand in salt_keys."""
import subprocess

from lib.paths import gateway_binary


def salt():
    return subprocess.run([gateway_binary(), 'gen-salt'], capture_output=True, text=True, timeout=20, check=True).stdout


def test_every_salt_is_new_and_is_accepted_in_salt_keys(tmp_path):
    one, two = salt(), salt()
    assert one != two and len(one.strip()) >= 32
    config = tmp_path / 'c.yaml'
    config.write_text('salt_keys: ["%s"]\nmcp_servers: {a: {url: "http://127.0.0.1:1/mcp"}}\n' % one.strip())
    checked = subprocess.run([gateway_binary(), 'check-config', config], capture_output=True, text=True, timeout=20)
    assert checked.returncode == 0, checked.stderr
