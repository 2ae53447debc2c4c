#include "features/expansion/contexts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tagline {

namespace {

// A (column, row) that a macro looks at.
using Place = std::pair<size_t, int>;

class Builder {
public:
    explicit Builder(const Expansion& expansion) : expansion_(expansion) {
        contexts_.of_skeleton.resize(expansion.skeletons.size());
        contexts_.rows.resize(expansion.skeletons.size());
    }

    // A context of one body, whose key is the body's own.
    void add(size_t b) {
        const Body& body = expansion_.bodies[b];
        Body key;
        key.macros = body.macros;
        std::vector<size_t> fields(body.macros.size());
        std::iota(fields.begin(), fields.end(), size_t{0});
        contexts_.parts.push_back({{b, std::move(fields)}});
        put(key, b, 0);
        finish(std::move(key));
    }

    // A context of several bodies that look at the same places, with the words there as its key.
    void add(const std::vector<Place>& places, const std::vector<size_t>& bodies) {
        Body key;
        for (const auto& [column, row] : places) key.macros.push_back({plain_source(column), row});
        contexts_.parts.emplace_back();
        for (const size_t b : bodies) {
            std::vector<size_t> fields;
            for (const Place& place : places_of(b))
                fields.push_back(size_t(std::find(places.begin(), places.end(), place) - places.begin()));
            contexts_.parts.back().push_back({b, std::move(fields)});
            put(key, b, lowest_row(b));
        }
        finish(std::move(key));
    }

    // Where each macro of a body looks; rows are counted from the lowest.
    std::vector<Place> places_of(size_t b) const {
        std::vector<Place> places;
        for (const Macro macro : expansion_.bodies[b].macros)
            places.emplace_back(expansion_.sources[size_t(macro.source)].column, macro.row - lowest_row(b));
        return places;
    }

    // −1 where there is none.
    int plain_source(size_t column) const {
        for (size_t s = 0; s < expansion_.sources.size(); ++s)
            if (expansion_.sources[s].plain && expansion_.sources[s].column == column) return int(s);
        return -1;
    }

    Contexts contexts() { return std::move(contexts_); }

private:
    const Expansion& expansion_;
    Contexts contexts_;

    // Counted from the first macro.
    int lowest_row(size_t b) const {
        int lowest = 0;
        for (const Macro macro : expansion_.bodies[b].macros) lowest = std::min(lowest, macro.row);
        return lowest;
    }

    // The templates of a body in the context that is made; its key begins so many rows from the body's first macro.
    void put(Body& key, size_t b, int shift) {
        for (const size_t s : expansion_.bodies[b].skeletons) {
            const int row = expansion_.skeletons[s].row + shift;
            key.first_row = key.skeletons.empty() ? row : std::min(key.first_row, row);
            key.last_row = key.skeletons.empty() ? row : std::max(key.last_row, row);
            key.skeletons.push_back(s);
            contexts_.of_skeleton[s] = contexts_.keys.size();
            contexts_.rows[s] = row;
        }
    }

    void finish(Body&& key) {
        key.prepare(expansion_.sources);
        contexts_.keys.push_back(std::move(key));
    }
};

}  // namespace

Contexts single_contexts(const Expansion& expansion) {
    Builder builder(expansion);
    for (size_t b = 0; b < expansion.bodies.size(); ++b) builder.add(b);
    return builder.contexts();
}

Contexts joint_contexts(const Expansion& expansion) {
    Builder builder(expansion);
    std::map<std::vector<Place>, std::vector<size_t>> groups;
    for (size_t b = 0; b < expansion.bodies.size(); ++b) {
        std::vector<Place> places = builder.places_of(b);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        const std::vector<Macro>& macros = expansion.bodies[b].macros;
        const bool joins = std::all_of(macros.begin(), macros.end(), [&](const Macro macro) {
            const Source& source = expansion.sources[size_t(macro.source)];
            return source.fine && builder.plain_source(source.column) >= 0;
        });
        if (joins)
            groups[places].push_back(b);
        else
            builder.add(b);
    }
    for (const auto& [places, bodies] : groups) {
        if (bodies.size() == 1)
            builder.add(bodies[0]);
        else
            builder.add(places, bodies);
    }
    return builder.contexts();
}

void part_codes(const std::vector<Source>& sources, const Body& key, const Contexts::Part& part, const Body& body,
                const uint32_t* key_codes, uint32_t* codes) {
    for (size_t m = 0; m < body.macros.size(); ++m) {
        const int wanted = body.macros[m].source, there = key.macros[part.fields[m]].source;
        const uint32_t code = key_codes[part.fields[m]];
        codes[m] = wanted == there ? code : sources[size_t(wanted)].code_of(sources[size_t(there)], code);
    }
}

}  // namespace tagline
