// `sluice hash-key`: what the configuration keeps of a key is its SHA-256, made here.
// Reads a key from stdin (without echo on a terminal), or makes one. Returns the exit status.
#pragma once

namespace sluice::app {

// Prints the hash alone on stdout; with `generate` the new key and its hash, each named.
int hash_key(bool generate);

} // namespace sluice::app
