// The attributes of a sentence by name, with memory of their own: what is read once and asked about more than once.
#pragma once

#include "features/names/named_attributes.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tagline {

class NamedSentence {
public:
    struct Attribute {
        uint32_t first, size;  // bytes of the name
        double value;
    };

    void clear();
    void add(const NamedAttributes& token);

    int64_t length() const { return int64_t(offsets_.size()) - 1; }
    std::span<const Attribute> token(int64_t t) const {
        return {attributes_.data() + offsets_[size_t(t)], offsets_[size_t(t) + 1] - offsets_[size_t(t)]};
    }
    std::string_view name(const Attribute& attribute) const {
        return {bytes_.data() + attribute.first, attribute.size};
    }

    // Numbers of the attributes in a vocabulary, in their order, unknown ones left out: those of token t are
    // ids[offsets[t]] … ids[offsets[t + 1] − 1]. Values are left empty where all of them are 1.
    struct Numbers {
        std::vector<int64_t> offsets;
        std::vector<int32_t> ids;
        std::vector<double> values;
        std::vector<int32_t> found;
        std::vector<Likely> scratch;
    };
    void look_up(const VocabularyView& vocabulary, Numbers& numbers) const;

private:
    std::vector<char> bytes_;
    std::vector<Attribute> attributes_;
    std::vector<uint64_t> hashes_;
    std::vector<size_t> offsets_{0};
    bool plain_ = true;  // all values are 1
};

}  // namespace tagline
