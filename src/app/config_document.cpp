#include "app/config_document.hpp"

#include "app/config_environment.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace sluice::app {

namespace {

constexpr std::size_t max_nodes = 200'000; // aliases of aliases stop here
constexpr std::size_t max_depth = 64;

struct too_big {
    place where;
    std::string text;
};

place place_of(const YAML::Mark& mark) {
    return {mark.line + 1, mark.column + 1};
}

std::size_t size_of(const yaml_node& node) {
    std::size_t total = 1;
    for (const auto& item : node.items)
        total += size_of(item);
    for (const auto& entry : node.entries)
        total += size_of(entry.value);
    return total;
}

class builder : public YAML::EventHandler {
public:
    builder(const environment& env, problem_list& problems) : env_(env), problems_(problems) {}

    std::optional<yaml_node>& root() { return root_; }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        yaml_node node;
        node.where = place_of(mark);
        put(std::move(node), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        auto known = anchors_.find(anchor);
        // Only an anchor that is still open is missing here: the alias stands inside its own value.
        if (known == anchors_.end()) throw too_big{place_of(mark), "an alias inside its own value"};
        auto node = known->second;
        nodes_ += size_of(node);
        put(std::move(node), YAML::NullAnchor);
    }

    void OnScalar(
        const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value
    ) override {
        yaml_node node;
        node.what = yaml_node::kind::scalar;
        node.where = place_of(mark);
        node.text = value;
        if (!awaits_key()) fill_in(node);
        put(std::move(node), anchor);
    }

    void OnSequenceStart(
        const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value
    ) override {
        open(yaml_node::kind::sequence, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(
        const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value
    ) override {
        open(yaml_node::kind::map, mark, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    struct frame {
        yaml_node node;
        YAML::anchor_t anchor;
        std::optional<yaml_entry> pending;             // key read, value to come
        std::map<std::string, int, std::less<>> lines; // of each key
    };

    bool awaits_key() const {
        return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().pending;
    }

    void open(yaml_node::kind what, const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (stack_.size() >= max_depth)
            throw too_big{
                place_of(mark), "nested more deeply than " + std::to_string(max_depth) + " levels"
            };
        frame f;
        f.node.what = what;
        f.node.where = place_of(mark);
        f.anchor = anchor;
        stack_.push_back(std::move(f));
    }

    void close() {
        auto done = std::move(stack_.back());
        stack_.pop_back();
        put(std::move(done.node), done.anchor);
    }

    void put(yaml_node node, YAML::anchor_t anchor) {
        if (++nodes_ > max_nodes) throw too_big{node.where, "too many values"};
        if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
        if (stack_.empty()) {
            root_ = std::move(node);
            return;
        }
        auto& top = stack_.back();
        if (!top.node.is_map()) {
            top.node.items.push_back(std::move(node));
        } else if (!top.pending) {
            take_key(top, std::move(node));
        } else {
            top.pending->value = std::move(node);
            keep(top);
        }
    }

    void take_key(frame& top, yaml_node node) {
        if (node.what != yaml_node::kind::scalar) {
            problems_.add(node.where, path(), "a key must be plain text");
        }
        top.pending = yaml_entry{std::move(node.text), node.where, {}};
    }

    void keep(frame& top) {
        auto& entry = *top.pending;
        auto [before, fresh] = top.lines.emplace(entry.key, entry.where.line);
        if (!fresh) {
            problems_.add(
                entry.where, path(), "given twice; first on line " + std::to_string(before->second)
            );
        } else {
            top.node.entries.push_back(std::move(entry));
        }
        top.pending.reset();
    }

    void fill_in(yaml_node& node) {
        auto filled = substitute(node.text, env_);
        for (auto& complaint : filled.complaints) {
            problems_.add(node.where, path(), std::move(complaint));
        }
        node.text = std::move(filled.text);
        node.from_environment = filled.from_environment;
    }

    // The dotted key of the value that comes next.
    std::string path() const {
        std::string out;
        for (const auto& f : stack_) {
            if (!f.node.is_map()) {
                out += '[' + std::to_string(f.node.items.size()) + ']';
            } else if (f.pending) {
                if (!out.empty()) out += '.';
                out += f.pending->key;
            }
        }
        return out;
    }

    const environment& env_;
    problem_list& problems_;
    std::vector<frame> stack_;
    std::map<YAML::anchor_t, yaml_node> anchors_;
    std::optional<yaml_node> root_;
    std::size_t nodes_ = 0;
};

} // namespace

const yaml_entry* yaml_node::find(std::string_view key) const {
    auto same = [&](const yaml_entry& entry) { return entry.key == key; };
    auto at = std::find_if(entries.begin(), entries.end(), same);
    return at == entries.end() ? nullptr : &*at;
}

std::string_view yaml_node::kind_name() const {
    switch (what) {
    case kind::null:
        return "nothing";
    case kind::scalar:
        return "a single value";
    case kind::sequence:
        return "a list";
    case kind::map:
        return "a map";
    }
    return "";
}

std::optional<yaml_node>
parse_document(const std::string& text, const environment& env, problem_list& problems) {
    builder build(env, problems);
    try {
        std::istringstream in(text);
        YAML::Parser parser(in);
        parser.HandleNextDocument(build);
        auto root = std::move(build.root());
        builder rest(env, problems);
        if (root && parser.HandleNextDocument(rest)) {
            auto where = rest.root() ? rest.root()->where : place{};
            problems.add(where, "", "a second YAML document; one file holds one configuration");
        }
        if (root && !root->is_null()) return root;
        problems.add({}, "", "the file is empty");
    } catch (const YAML::Exception& broken) {
        problems.add(place_of(broken.mark), "", "not YAML: " + broken.msg);
    } catch (const too_big& big) {
        problems.add(big.where, "", big.text);
    }
    return std::nullopt;
}

} // namespace sluice::app
