#include "app/commands.hpp"

#include <csignal>

int main(int argc, char** argv) {
    // A write to a child or host that is gone is an error to handle, not a reason to die.
    std::signal(SIGPIPE, SIG_IGN);
    return sluice::app::run_command(argc, argv);
}
