#include "features/expansion/templates.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int kKeyBits = 63;  // so that kAbsent is no key
constexpr int kFoldBits = 32;

}  // namespace

std::vector<char> prepare_pieces(std::span<Piece> pieces) {
    size_t total = 0;
    for (const Piece& piece : pieces) total += piece.text.size();
    std::vector<char> bytes(total + kSlack);
    char* at = bytes.data();
    for (Piece& piece : pieces) {
        char* const end = std::copy(piece.text.begin(), piece.text.end(), at);
        piece = {hash_piece(piece.text), {at, size_t(end - at)}};
        at = end;
    }
    return bytes;
}

void Body::prepare(const std::vector<Source>& sources) {
    segments.assign(1, 0);
    for (size_t m = 0; m < macros.size(); ++m) {
        const int wide = sources[size_t(macros[m].source)].bits();
        if (bits + wide > kKeyBits) {
            segments.push_back(m);
            bits = kFoldBits;
        }
        fields.push_back({bits, (uint64_t{1} << wide) - 1});
        bits += wide;
    }
    for (const std::string& literal : literals) pieces.push_back({{}, literal});
    bytes = prepare_pieces(pieces);
}

std::vector<Body> make_bodies(const std::vector<Source>& sources, std::vector<Skeleton>& skeletons) {
    std::vector<Body> bodies;
    for (size_t s = 0; s < skeletons.size(); ++s) {
        Skeleton& skeleton = skeletons[s];
        skeleton.prefix.text = skeleton.literals[0];
        skeleton.bytes = prepare_pieces({&skeleton.prefix, 1});
        skeleton.row = skeleton.macros.empty() ? 0 : skeleton.macros[0].row;
        Body body;
        for (const Macro macro : skeleton.macros) body.macros.push_back({macro.source, macro.row - skeleton.row});
        body.literals.assign(skeleton.literals.begin() + 1, skeleton.literals.end());
        skeleton.body = size_t(std::find_if(bodies.begin(), bodies.end(),
                                            [&](const Body& other) {
                                                return other.macros == body.macros && other.literals == body.literals;
                                            }) -
                               bodies.begin());
        if (skeleton.body == bodies.size()) {
            body.first_row = body.last_row = skeleton.row;
            bodies.push_back(std::move(body));
        }
        Body& own = bodies[skeleton.body];
        own.skeletons.push_back(s);
        own.first_row = std::min(own.first_row, skeleton.row);
        own.last_row = std::max(own.last_row, skeleton.row);
    }
    for (Body& body : bodies) body.prepare(sources);
    return bodies;
}

}  // namespace tagline
