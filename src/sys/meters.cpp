#include "sys/meters.hpp"

#include "wire/bytes.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <unordered_map>

namespace sluice::sys {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries total_buckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300
};
const Histogram::BucketBoundaries gateway_buckets = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25
};
const Histogram::BucketBoundaries peer_buckets = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1
};

const Histogram::BucketBoundaries store_buckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5
};

// A person answers; a model may, too.
const Histogram::BucketBoundaries wait_buckets = {0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};

std::string question_kind(std::string_view method) {
    bool known = method == "elicitation/create" || method == "sampling/createMessage" ||
                 method == "roots/list";
    return known ? std::string(method) : "other";
}

// The exposition format is UTF-8, and a scraper refuses the whole page for one byte that is not; a
// tool may be called anything that JSON can say, lone surrogates too.
std::string utf8_label(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const char* end = text.data() + text.size();
    for (const char* p = text.data(); p != end;) {
        auto length = static_cast<unsigned char>(*p) < 0x80 ? 1 : wire::bytes::utf8_length(p, end);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            ++p;
            continue;
        }
        out.append(p, static_cast<std::size_t>(length));
        p += length;
    }
    return out;
}

struct series {
    Counter* calls = nullptr;
    Histogram* total = nullptr;
    Histogram* gateway = nullptr;
};

} // namespace

struct meters::state {
    explicit state(std::size_t tools) : max_tools(tools) {}

    prometheus::Registry registry;
    std::size_t max_tools;
    Family<Counter>& calls =
        counters("sluice_calls_total", "Operations ended, by server, method and outcome");
    Family<Counter>& tools = counters(
        "sluice_tool_calls_total", "tools/call by server and tool; beyond the bound: other"
    );
    Family<Histogram>& total =
        histograms("sluice_call_duration_seconds", "Whole duration of an operation");
    Family<Histogram>& gateway = histograms(
        "sluice_gateway_added_seconds", "Duration less the time spent waiting for the upstream"
    );
    Family<Counter>& refused_family =
        counters("sluice_requests_refused_total", "Requests refused before an operation began");
    Family<Counter>& questions =
        counters("sluice_questions_total", "Questions of upstreams to hosts, by method and ending");
    Counter& cursors = single("sluice_cursors_issued_total", "Cursors of lists given to hosts");
    Family<Counter>& cursor_refusals =
        counters("sluice_cursors_refused_total", "Cursors of lists that were refused, by reason");
    Family<Counter>& output_checks =
        counters("sluice_output_checks_total", "Results held against outputSchema, by result");
    Family<Counter>& page_lookups =
        counters("sluice_list_cache_total", "List pages looked for in the cache, by result");
    Family<Counter>& peer_family =
        counters("sluice_peer_requests_total", "Requests passed on to other replicas, by outcome");
    Family<Counter>& peer_refusals =
        counters("sluice_peer_refused_total", "Requests at peer_listen that were not believed");
    Histogram& peer_time =
        histograms("sluice_peer_request_seconds", "Until another replica began to answer")
            .Add({}, peer_buckets);
    Family<Counter>& store_commands =
        counters("sluice_store_commands_total", "Commands to the store, by purpose and outcome");
    Family<Histogram>& store_seconds =
        histograms("sluice_store_command_seconds", "From a command to the store's answer");
    Counter& store_connects =
        single("sluice_store_connects_total", "Connections to the store that were made");
    Family<Gauge>& open_questions = prometheus::BuildGauge()
                                        .Name("sluice_questions_open")
                                        .Help("Questions that hosts have not answered yet")
                                        .Register(registry);
    Family<Histogram>& question_wait =
        histograms("sluice_question_wait_seconds", "How long a question was open at its host");
    Counter& strays = single("sluice_stray_answers_total", "Answers of hosts to no open question");
    Counter& relayed = single("sluice_progress_relayed_total", "Progress notes passed to hosts");
    Counter& cancels = single("sluice_cancellations_total", "Calls cancelled by their host");

    // Keyed by "server\0method\0outcome": one look-up a call, no label maps built on the way.
    std::unordered_map<std::string, series> known;
    std::unordered_map<std::string, series> known_store; // "op\0outcome"
    std::map<std::string, Counter*, std::less<>> known_tools;
    std::map<std::string, Counter*, std::less<>> known_refusals;
    std::function<std::vector<gauge_reading>()> read;

    Family<Counter>& counters(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    }
    Counter& single(const char* name, const char* help) { return counters(name, help).Add({}); }
    Family<Histogram>& histograms(const char* name, const char* help) {
        return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
    }

    series& find(const call_sample& sample) {
        std::string key;
        key.append(sample.server).push_back('\0');
        key.append(sample.method).push_back('\0');
        key.append(sample.outcome);
        auto& found = known[key];
        if (found.calls != nullptr) return found;
        prometheus::Labels where = {
            {"server", std::string(sample.server)}, {"method", std::string(sample.method)}
        };
        auto with_outcome = where;
        with_outcome.emplace("outcome", std::string(sample.outcome));
        found.calls = &calls.Add(with_outcome);
        found.total = &total.Add(where, total_buckets);
        found.gateway = &gateway.Add(where, gateway_buckets);
        return found;
    }

    void count_tool(const call_sample& sample) {
        if (max_tools == 0 || sample.tool.empty()) return;
        std::string key = std::string(sample.server) + '\0' + std::string(sample.tool);
        auto it = known_tools.find(key);
        if (it == known_tools.end()) {
            bool room = known_tools.size() < max_tools;
            std::string tool = room ? utf8_label(sample.tool) : "other";
            auto& counter = tools.Add({{"server", std::string(sample.server)}, {"tool", tool}});
            if (!room) return counter.Increment();
            it = known_tools.emplace(std::move(key), &counter).first;
        }
        it->second->Increment();
    }
};

meters::meters(std::size_t max_tool_names) : state_(std::make_unique<state>(max_tool_names)) {}
meters::~meters() = default;

void meters::call_ended(const call_sample& sample) {
    auto& found = state_->find(sample);
    found.calls->Increment();
    found.total->Observe(sample.total_seconds);
    found.gateway->Observe(sample.gateway_seconds);
    state_->count_tool(sample);
}

void meters::progress_relayed(std::uint64_t n) {
    state_->relayed.Increment(static_cast<double>(n));
}
void meters::cancelled() {
    state_->cancels.Increment();
}

void meters::question_put(std::string_view method) {
    state_->open_questions.Add({{"method", question_kind(method)}}).Increment();
}

void meters::question_settled(std::string_view method, double seconds) {
    auto kind = question_kind(method);
    state_->open_questions.Add({{"method", kind}}).Decrement();
    state_->question_wait.Add({{"method", kind}}, wait_buckets).Observe(seconds);
}

void meters::question_ended(std::string_view method, std::string_view ending) {
    state_->questions.Add({{"method", question_kind(method)}, {"ending", std::string(ending)}}
    ).Increment();
}

void meters::stray_answer() {
    state_->strays.Increment();
}

void meters::refused(std::string_view reason) {
    auto it = state_->known_refusals.find(reason);
    if (it == state_->known_refusals.end()) {
        auto& counter = state_->refused_family.Add({{"reason", std::string(reason)}});
        it = state_->known_refusals.emplace(std::string(reason), &counter).first;
    }
    it->second->Increment();
}

void meters::cursor_issued() {
    state_->cursors.Increment();
}

void meters::cursor_refused(std::string_view reason) {
    state_->cursor_refusals.Add({{"reason", std::string(reason)}}).Increment();
}

void meters::output_checked(std::string_view server, std::string_view result) {
    state_->output_checks.Add({{"server", std::string(server)}, {"result", std::string(result)}}
    ).Increment();
}

void meters::page_looked_up(std::string_view server, std::string_view result) {
    state_->page_lookups.Add({{"server", std::string(server)}, {"result", std::string(result)}}
    ).Increment();
}

void meters::peer_asked(std::string_view outcome, double seconds) {
    state_->peer_family.Add({{"outcome", std::string(outcome)}}).Increment();
    state_->peer_time.Observe(seconds);
}

void meters::peer_refused(std::string_view reason) {
    state_->peer_refusals.Add({{"reason", std::string(reason)}}).Increment();
}

void meters::store_command(std::string_view op, std::string_view outcome, double seconds) {
    std::string key;
    key.append(op).push_back('\0');
    key.append(outcome);
    auto& found = state_->known_store[key];
    if (found.calls == nullptr) {
        prometheus::Labels where = {{"op", std::string(op)}};
        found.total = &state_->store_seconds.Add(where, store_buckets);
        where.emplace("outcome", std::string(outcome));
        found.calls = &state_->store_commands.Add(where);
    }
    found.calls->Increment();
    found.total->Observe(seconds);
}
void meters::store_connected() {
    state_->store_connects.Increment();
}

void meters::on_scrape(std::function<std::vector<gauge_reading>()> read) {
    state_->read = std::move(read);
}

std::string meters::render() const {
    auto families = state_->registry.Collect();
    std::map<std::string, std::size_t> index;
    if (state_->read) {
        for (auto& reading : state_->read()) {
            auto [it, fresh] = index.emplace(reading.name, families.size());
            if (fresh) {
                auto type = reading.counter ? prometheus::MetricType::Counter
                                            : prometheus::MetricType::Gauge;
                families.push_back({reading.name, reading.help, type, {}});
            }
            prometheus::ClientMetric metric;
            for (auto& [name, value] : reading.labels)
                metric.label.push_back({name, value});
            if (reading.counter) {
                metric.counter.value = reading.value;
            } else {
                metric.gauge.value = reading.value;
            }
            families[it->second].metric.push_back(std::move(metric));
        }
    }
    return prometheus::TextSerializer().Serialize(families);
}

} // namespace sluice::sys
