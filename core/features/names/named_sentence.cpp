#include "features/names/named_sentence.h"

#include <stdexcept>

namespace tagline {

void NamedSentence::clear() {
    bytes_.clear();
    attributes_.clear();
    hashes_.clear();
    offsets_.assign(1, 0);
    plain_ = true;
}

void NamedSentence::add(const NamedAttributes& token) {
    for (const NamedAttributes::Attribute& attribute : token.attributes) {
        const size_t first = bytes_.size();
        for (const std::string_view piece : token.name(attribute))
            bytes_.insert(bytes_.end(), piece.begin(), piece.end());
        if (bytes_.size() > UINT32_MAX) throw std::length_error("a sentence of at most 4 GiB of names");
        attributes_.push_back({uint32_t(first), uint32_t(bytes_.size() - first), attribute.value});
        hashes_.push_back(attribute.hash);
        plain_ = plain_ && attribute.value == 1;
    }
    offsets_.push_back(attributes_.size());
}

void NamedSentence::look_up(const VocabularyView& vocabulary, Numbers& numbers) const {
    for (const uint64_t hash : hashes_) vocabulary.prefetch_marks(hash);
    numbers.found.resize(hashes_.size());
    vocabulary.find_many(hashes_, numbers.scratch, numbers.found.data(), [&](uint32_t k, std::string_view known) {
        return name(attributes_[k]) == known;
    });
    numbers.offsets.assign(1, 0);
    numbers.ids.clear();
    numbers.values.clear();
    for (int64_t t = 0; t < length(); ++t) {
        for (size_t k = offsets_[size_t(t)]; k < offsets_[size_t(t) + 1]; ++k) {
            if (numbers.found[k] < 0) continue;
            numbers.ids.push_back(numbers.found[k]);
            if (!plain_) numbers.values.push_back(attributes_[k].value);
        }
        numbers.offsets.push_back(int64_t(numbers.ids.size()));
    }
}

}  // namespace tagline
