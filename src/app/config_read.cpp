#include "app/config_read.hpp"

#include "app/config_values.hpp"

namespace sluice::app {

namespace {

// How a value may be shown in a problem: not when it came from the environment.
std::string shown(const yaml_node& node) {
    return node.from_environment ? "the value" : "\"" + node.text + "\"";
}

class value_reader {
public:
    value_reader(const yaml_node& node, const std::string& key, problem_list& problems)
        : node_(node), key_(key), problems_(problems) {}

    void operator()(bool* to) const {
        if (!is_scalar()) return;
        auto value = parse_switch(node_.text);
        if (!value) return wrong(shown(node_) + " must be true or false");
        *to = *value;
    }

    void operator()(const duration_slot& slot) const {
        if (!is_scalar()) return;
        auto value = parse_duration(node_.text);
        if (!value) {
            return wrong(shown(node_) + " is not a duration; write seconds, or 500ms, 60s, 5m, 1h");
        }
        if (*value < slot.least) return wrong("must be at least " + show_duration(slot.least));
        *slot.to = *value;
    }

    void operator()(const size_slot& slot) const {
        if (!is_scalar()) return;
        auto value = parse_size(node_.text);
        if (!value)
            return wrong(shown(node_) + " is not a size; write bytes, or 32KiB, 4MiB, 1GiB");
        if (*value < slot.least) return wrong("must be at least " + show_size(slot.least));
        *slot.to = *value;
    }

    void operator()(const count_slot& slot) const {
        if (!is_scalar()) return;
        auto value = parse_count(node_.text);
        if (!value) return wrong(shown(node_) + " is not a whole number");
        if (*value < slot.least) return wrong("must be at least " + std::to_string(slot.least));
        if (*value > slot.most) return wrong("must be at most " + std::to_string(slot.most));
        *slot.to = *value;
    }

    void operator()(const small_count_slot& slot) const {
        std::size_t value = *slot.to;
        (*this)(count_slot{&value, slot.least, slot.most});
        *slot.to = static_cast<std::uint32_t>(value);
    }

    void operator()(const choice_slot& slot) const {
        if (!is_scalar()) return;
        names words(slot.words.begin(), slot.words.end());
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] != node_.text) continue;
            *slot.to = static_cast<std::uint8_t>(i);
            return;
        }
        if (is_later(slot.later, node_.text)) return wrong("not supported yet: " + node_.text);
        not_one_of(words);
    }

    void operator()(const flag_slot& slot) const {
        if (!is_scalar()) return;
        names words{std::string(slot.no), std::string(slot.yes)};
        if (node_.text != slot.no && node_.text != slot.yes) return not_one_of(words);
        *slot.to = node_.text == slot.yes;
    }

    void operator()(const text_slot& slot) const {
        if (is_scalar()) *slot.to = node_.text;
    }

    void operator()(const secret_slot& slot) const {
        if (is_scalar()) *slot.to = base::secret(node_.text);
    }

    void operator()(const list_slot& slot) const { read_list(*slot.to); }

    void operator()(const secret_list_slot& slot) const {
        names items;
        if (!read_list(items)) return;
        slot.to->clear();
        for (auto& item : items)
            slot.to->emplace_back(std::move(item));
    }

    void operator()(const optional_list_slot& slot) const {
        names items;
        if (read_list(items)) *slot.to = std::move(items);
    }

    void operator()(const text_map_slot& slot) const {
        each_entry([&](const yaml_entry& entry, const value_reader& inner) {
            inner(text_slot{&(*slot.to)[entry.key]});
        });
    }

    void operator()(const list_map_slot& slot) const {
        each_entry([&](const yaml_entry& entry, const value_reader& inner) {
            inner.read_list((*slot.to)[entry.key]);
        });
    }

    void operator()(const secret_map_slot& slot) const {
        each_entry([&](const yaml_entry& entry, const value_reader& inner) {
            inner(secret_slot{&(*slot.to)[entry.key]});
        });
    }

    void operator()(const headers_slot& slot) const {
        each_entry([&](const yaml_entry& entry, const value_reader& inner) {
            slot.to->emplace_back(entry.key, base::secret());
            inner(secret_slot{&slot.to->back().second});
        });
    }

    void operator()(const block_slot&) const {}

private:
    void wrong(std::string text) const { problems_.add(node_.where, key_, std::move(text)); }

    void not_one_of(const names& words) const {
        problems_.add(
            node_.where,
            key_,
            shown(node_) + " is not one of " + base::join(words, ", "),
            node_.from_environment ? std::nullopt : base::nearest(node_.text, words)
        );
    }

    bool is_scalar() const {
        if (node_.what == yaml_node::kind::scalar) return true;
        wrong("must be a single value, not " + std::string(node_.kind_name()));
        return false;
    }

    // Replaces what was there. A single value is not taken for a list of one.
    bool read_list(names& to) const {
        if (node_.what != yaml_node::kind::sequence) {
            wrong("must be a list, not " + std::string(node_.kind_name()));
            return false;
        }
        to.clear();
        for (std::size_t i = 0; i < node_.items.size(); ++i) {
            auto key = key_ + "[" + std::to_string(i) + "]";
            std::string text;
            value_reader(node_.items[i], key, problems_)(text_slot{&text});
            to.push_back(std::move(text));
        }
        return true;
    }

    template <class Each>
    void each_entry(Each each) const {
        if (!node_.is_map()) {
            wrong("must be a map, not " + std::string(node_.kind_name()));
            return;
        }
        for (const auto& entry : node_.entries) {
            auto key = dotted(key_, entry.key);
            each(entry, value_reader(entry.value, key, problems_));
        }
    }

    const yaml_node& node_;
    const std::string& key_;
    problem_list& problems_;
};

} // namespace

std::string dotted(std::string_view before, std::string_view key) {
    std::string out(before);
    if (!out.empty()) out += '.';
    out += key;
    return out;
}

void read_value(
    const slot& to, const yaml_node& node, const std::string& key, problem_list& problems
) {
    if (node.is_null()) return;
    std::visit(value_reader(node, key, problems), to);
}

} // namespace sluice::app
