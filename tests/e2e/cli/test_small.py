"""hash-key, check-config, --version and --help."""
import hashlib
import time


def test_hash_key_prints_the_sha256_of_what_it_reads(cli):
    said = cli("hash-key", stdin="sk-a-long-enough-key\n")
    assert (said.status, said.err) == (0, "")
    assert said.out == hashlib.sha256(b"sk-a-long-enough-key").hexdigest() + "\n"


def test_hash_key_makes_keys_that_differ(cli):
    made = []
    for _ in range(2):
        said = cli("hash-key", "--generate")
        assert said.status == 0
        (_, key), (_, digest) = [line.split() for line in said.out.splitlines()]
        assert hashlib.sha256(key.encode()).hexdigest() == digest and len(key) > 32
        made.append(key)
    assert made[0] != made[1]


def test_hash_key_refuses_what_cannot_travel_in_a_header(cli):
    assert cli("hash-key", stdin="\n").status == 2
    assert cli("hash-key", stdin="").status == 2
    assert cli("hash-key", stdin="a key with spaces\n").status == 2


def test_a_generated_key_opens_the_gateway(cli, demo, gateways):
    key, digest = [line.split()[1] for line in cli("hash-key", "--generate").out.splitlines()]
    gateway = gateways({"d": {"url": demo()}}, keys=[{"name": "k", "sha256": digest}])
    refused = cli("list", gateway.mcp_url)
    assert refused.status == 3 and "401" in refused.err
    assert cli("list", gateway.mcp_url, "-H", "x-sluice-api-key: " + key).status == 0


def test_check_config_says_good_or_every_problem(cli, tmp_path):
    file = tmp_path / "sluice.yaml"
    file.write_text("listen: 127.0.0.1:8080\nmcp_servers:\n  a: {url: 'http://127.0.0.1:1/mcp'}\n")
    said = cli("check-config", file)
    assert said.status == 0 and "good" in said.out
    file.write_text("listne: 127.0.0.1:8080\nmcp_servers:\n  a: {url: 'nonsense'}\n")
    said = cli("check-config", file)
    assert said.status == 2 and said.out == ""
    assert "%s:1:1" % file in said.err and "did you mean" in said.err and "%s:3:" % file in said.err
    assert cli("serve", "--config", file).status == 2
    assert cli("check-config", tmp_path / "none.yaml").status == 2


def test_check_config_ends_on_a_file_without_end_or_of_any_number_of_mistakes(cli, tmp_path):
    said = cli("check-config", "/dev/zero")
    assert said.status == 2 and "4 MiB" in said.err
    file = tmp_path / "sluice.yaml"
    file.write_text("".join("unknown_%d: 1\n" % i for i in range(99_000)))
    began = time.monotonic()
    said = cli("check-config", file)
    assert time.monotonic() - began < 15, "what takes the square of its size takes minutes"
    assert said.status == 2 and "unknown_0: unknown key" in said.err and " more, which are not shown" in said.err
    assert len(said.err.splitlines()) < 200


def test_version_and_help(cli):
    assert cli("--version").out.startswith("sluice ")
    said = cli("--help")
    assert said.status == 0 and "guard-children" not in said.out
    for command in ("serve", "check-config", "list", "call", "hash-key", "demo-upstream"):
        assert command in said.out and cli(command, "--help").status == 0
