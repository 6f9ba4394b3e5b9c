#include "app/commands.hpp"

#include "app/check_config.hpp"
#include "app/client/talk.hpp"
#include "app/demo/upstream.hpp"
#include "app/hash_key.hpp"
#include "app/serve.hpp"
#include "base/text.hpp"
#include "net/child.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <string>

namespace sluice::app {

namespace {

// Everything the subcommands read, and the one that was chosen.
struct command_line {
    std::string config_file;
    talk_options list;
    call_options call;
    bool generate = false;
    std::uint16_t http_port = 0;
    bool stdio = false;
    demo::options demo;
    std::function<int()> chosen;
};

void add_talk_options(CLI::App& command, talk_options& to) {
    command.add_option("url", to.url, "The MCP endpoint, for instance http://127.0.0.1:8080/mcp")
        ->required()
        ->type_name("URL");
    command
        .add_option(
            "--header,-H", to.headers, "\"Name: value\" sent with every request; repeatable"
        )
        ->allow_extra_args(false)
        ->type_name("K:V");
    command.add_option("--timeout", to.timeout_seconds, "Seconds an answer may say nothing at all")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str()
        ->type_name("SECONDS");
}

void add_serve(CLI::App& app, command_line& line) {
    auto* serving = app.add_subcommand("serve", "Run the gateway");
    serving->add_option("--config,-c", line.config_file, "The configuration (YAML)")
        ->required()
        ->type_name("FILE");
    serving->callback([&line] { line.chosen = [&line] { return serve(line.config_file); }; });
}

void add_check_config(CLI::App& app, command_line& line) {
    auto* checking = app.add_subcommand(
        "check-config",
        "Say everything that is wrong with a configuration; exit status 2 when there is"
    );
    checking->add_option("file", line.config_file, "The configuration (YAML)")
        ->required()
        ->type_name("FILE");
    checking->callback([&line] { line.chosen = [&line] { return check_config(line.config_file); }; }
    );
}

void add_list_and_call(CLI::App& app, command_line& line) {
    auto* list = app.add_subcommand("list", "List the tools of an MCP server, or of this gateway");
    add_talk_options(*list, line.list);
    list->callback([&line] { line.chosen = [&line] { return list_command(line.list); }; });

    auto* call =
        app.add_subcommand("call", "Call one tool; exit status 1 when the tool says it failed");
    add_talk_options(*call, line.call.to);
    call->add_option("tool", line.call.tool, "The tool's name")->required()->type_name("TOOL");
    call->add_option("arguments", line.call.words, "Arguments, typed by the tool's own schema")
        ->type_name("key=value");
    call->add_option("--json", line.call.json, "The whole arguments object as JSON")
        ->type_name("ARGS");
    call->add_flag("--raw", line.call.raw, "Print the result's JSON, byte for byte");
    call->add_flag(
        "--yes,-y",
        line.call.yes,
        "Never ask: a question of the server is refused, and the exit status is 4"
    );
    call->callback([&line] { line.chosen = [&line] { return call_command(line.call); }; });
}

void add_hash_key(CLI::App& app, command_line& line) {
    auto* hash =
        app.add_subcommand("hash-key", "Print the SHA-256 of a key, for the configuration");
    hash->add_flag("--generate", line.generate, "Make a new key and print both");
    hash->callback([&line] { line.chosen = [&line] { return hash_key(line.generate); }; });
}

void add_gen_salt(CLI::App& app, command_line& line) {
    auto* salt = app.add_subcommand("gen-salt", "Print a new salt for salt_keys");
    salt->callback([&line] { line.chosen = [] { return gen_salt(); }; });
}

void add_demo(CLI::App& app, command_line& line) {
    auto* demo = app.add_subcommand("demo-upstream", "A small MCP server to try the gateway on");
    auto* how = demo->add_option_group("transport");
    auto* http =
        how->add_option(
               "--http", line.http_port, "Listen on this port of 127.0.0.1; 0 = any free one"
        )
            ->type_name("PORT");
    how->add_flag("--stdio", line.stdio, "Speak on standard input and output");
    how->require_option(1);
    demo->add_option("--tools", line.demo.extra_tools, "So many more tools in the catalogue")
        ->check(CLI::Range(0, 100'000))
        ->type_name("N");
    demo->add_option("--page-size", line.demo.page_size, "Tools on one page; 0 = all on one")
        ->check(CLI::Range(0, 100'000))
        ->type_name("M");
    demo->callback([&line, http] {
        bool over_http = http->count() > 0;
        line.chosen = [&line, over_http] {
            return over_http ? demo_over_http(line.http_port, line.demo)
                             : demo_over_stdio(line.demo);
        };
    });
}

void add_guard(CLI::App& app, command_line& line) {
    auto* guard = app.add_subcommand("guard-children", "")->group("");
    guard->callback([&line] { line.chosen = [] { return net::guard_main(); }; });
}

// "sluice srve": CLI11 would only say that a subcommand is missing.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return {};
    std::vector<std::string> known;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_name() == argv[1]) return {};
        if (!command->get_group().empty()) known.push_back(command->get_name());
    }
    std::string text = "there is no command '" + std::string(argv[1]) + "'";
    auto near = base::nearest(argv[1], known);
    return near ? text + "; did you mean '" + *near + "'?" : text;
}

} // namespace

int run_command(int argc, char** argv) {
    CLI::App app("Sluice: many MCP servers behind one endpoint.", "sluice");
    app.set_version_flag("--version", "sluice " SLUICE_VERSION);
    app.require_subcommand(1);
    app.failure_message([](const CLI::App* where, const CLI::Error& e) {
        return "sluice: " + std::string(e.what()) + "\nTry '" + where->get_name() + " --help'.\n";
    });
    command_line line;
    add_serve(app, line);
    add_check_config(app, line);
    add_list_and_call(app, line);
    add_hash_key(app, line);
    add_gen_salt(app, line);
    add_demo(app, line);
    add_guard(app, line);
    if (auto unknown = unknown_command(app, argc, argv); !unknown.empty()) {
        std::fprintf(stderr, "sluice: %s\nTry 'sluice --help'.\n", unknown.c_str());
        return exit_status::usage;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? exit_status::ok : exit_status::usage;
    }
    return line.chosen();
}

} // namespace sluice::app
