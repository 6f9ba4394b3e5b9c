// The command line: which subcommand, with which options. CLI11 is fenced here.
// Exit status: 0 fine, 1 a tool said isError, 2 usage or configuration, 3 unreachable or protocol,
// 4 a server's question was refused because nobody could answer it.
#pragma once

namespace sluice::app {

int run_command(int argc, char** argv);

} // namespace sluice::app
