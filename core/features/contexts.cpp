#include "features/contexts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tagline {

namespace {

// (Column, row) of a body's macros, each once; rows are counted from the lowest.
using Places = std::vector<std::pair<size_t, int>>;

int lowest_row(const Body& body) {
    int lowest = 0;  // of the first macro
    for (const Macro macro : body.macros) lowest = std::min(lowest, macro.row);
    return lowest;
}

Places places_of(const std::vector<Source>& sources, const Body& body) {
    Places places;
    for (const Macro macro : body.macros)
        places.emplace_back(sources[size_t(macro.source)].column, macro.row - lowest_row(body));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

// The source to put into a key for a place: the only one that the bodies take from there, or the words; −1 for none.
int key_source(const Expansion& expansion, const std::vector<size_t>& bodies, std::pair<size_t, int> place) {
    int only = -1;
    bool several = false;
    for (const size_t b : bodies)
        for (const Macro macro : expansion.bodies[b].macros) {
            const Source& source = expansion.sources[size_t(macro.source)];
            if (std::pair(source.column, macro.row - lowest_row(expansion.bodies[b])) != place) continue;
            several |= only >= 0 && only != macro.source;
            only = macro.source;
        }
    if (!several) return only;
    for (size_t s = 0; s < expansion.sources.size(); ++s)
        if (expansion.sources[s].plain && expansion.sources[s].column == place.first) return int(s);
    return -1;
}

class Builder {
public:
    explicit Builder(const Expansion& expansion) : expansion_(expansion) {
        contexts_.of_skeleton.resize(expansion.skeletons.size());
        contexts_.rows.resize(expansion.skeletons.size());
    }

    // A context of these bodies, with a key of these macros; false where a place has no source for it.
    bool add(const std::vector<size_t>& bodies, const Places& places) {
        Body key;
        for (const auto& place : places) {
            const int source = key_source(expansion_, bodies, place);
            if (source < 0) return false;
            key.macros.push_back({source, place.second});
        }
        std::vector<Contexts::Part>& parts = contexts_.parts.emplace_back();
        for (const size_t b : bodies) {
            const Body& body = expansion_.bodies[b];
            Contexts::Part& part = parts.emplace_back(Contexts::Part{b, {}});
            for (const Macro macro : body.macros) {
                const std::pair place(expansion_.sources[size_t(macro.source)].column, macro.row - lowest_row(body));
                part.fields.push_back(size_t(std::find(places.begin(), places.end(), place) - places.begin()));
            }
            for (const size_t s : body.skeletons) put(key, s, expansion_.skeletons[s].row + lowest_row(body));
        }
        key.prepare(expansion_.sources);
        contexts_.keys.push_back(std::move(key));
        return true;
    }

    Contexts finish() { return std::move(contexts_); }

private:
    const Expansion& expansion_;
    Contexts contexts_;

    void put(Body& key, size_t skeleton, int row) {
        key.first_row = key.skeletons.empty() ? row : std::min(key.first_row, row);
        key.last_row = key.skeletons.empty() ? row : std::max(key.last_row, row);
        key.skeletons.push_back(skeleton);
        contexts_.of_skeleton[skeleton] = contexts_.keys.size();
        contexts_.rows[skeleton] = row;
    }
};

}  // namespace

Contexts single_contexts(const Expansion& expansion) {
    Contexts contexts;
    for (size_t b = 0; b < expansion.bodies.size(); ++b) {
        const Body& body = expansion.bodies[b];
        Body& key = contexts.keys.emplace_back();
        key.macros = body.macros;
        key.skeletons = body.skeletons;
        key.first_row = body.first_row;
        key.last_row = body.last_row;
        key.prepare(expansion.sources);
        Contexts::Part& part = contexts.parts.emplace_back().emplace_back(Contexts::Part{b, {}});
        for (size_t m = 0; m < body.macros.size(); ++m) part.fields.push_back(m);
    }
    for (const Skeleton& skeleton : expansion.skeletons) {
        contexts.of_skeleton.push_back(skeleton.body);
        contexts.rows.push_back(skeleton.row);
    }
    return contexts;
}

Contexts joint_contexts(const Expansion& expansion) {
    std::map<Places, std::vector<size_t>> groups;
    for (size_t b = 0; b < expansion.bodies.size(); ++b)
        groups[places_of(expansion.sources, expansion.bodies[b])].push_back(b);
    Builder builder(expansion);
    for (const auto& [places, bodies] : groups)
        if (!builder.add(bodies, places))
            for (const size_t b : bodies) builder.add({b}, places);
    return builder.finish();
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
