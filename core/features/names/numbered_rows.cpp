#include "features/names/numbered_rows.h"

namespace tagline {

void NumberedRows::append(int32_t id, double value) {
    if (value != 1 && values.empty()) values.assign(ids.size(), 1);
    ids.push_back(id);
    if (value != 1 || !values.empty()) values.push_back(float(value));
}

void NumberedRows::add(const NamedAttributes& token) {
    if (known_) {
        for (const NamedAttributes::Attribute& attribute : token.attributes) known_->prefetch_marks(attribute.hash);
        return sentence_.add(token);
    }
    for (const NamedAttributes::Attribute& attribute : token.attributes)
        append(hash_bits_ ? int32_t(attribute.hash & ((uint64_t{1} << hash_bits_) - 1))
                          : names_->intern(attribute.hash, token.name(attribute)),
               attribute.value);
    offsets.push_back(int64_t(ids.size()));
}

void NumberedRows::end_sentence() {
    if (!known_) return;
    sentence_.look_up(*known_, numbers_);
    const int64_t before = int64_t(ids.size());
    if (numbers_.values.empty() && values.empty())
        ids.insert(ids.end(), numbers_.ids.begin(), numbers_.ids.end());
    else
        for (size_t k = 0; k < numbers_.ids.size(); ++k)
            append(numbers_.ids[k], numbers_.values.empty() ? 1 : numbers_.values[k]);
    for (size_t t = 1; t < numbers_.offsets.size(); ++t) offsets.push_back(before + numbers_.offsets[t]);
    sentence_.clear();
}

}  // namespace tagline
