// `sluice hash-key`: what the configuration keeps of a key is its SHA-256, made here. `sluice
// gen-salt`: a salt for `salt_keys`. Reads a key from stdin (without echo on a terminal), or makes
// one. Returns the exit status.
#pragma once

namespace sluice::app {

// Prints the hash alone on stdout; with `generate` the new key and its hash, each named.
int hash_key(bool generate);

// Prints a new salt, 256 random bits as text.
int gen_salt();

} // namespace sluice::app
