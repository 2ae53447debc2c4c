#include "features/names/double_array.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kCodes = 257;  // 0 for the end of a key, 1 + c for byte c

struct Child {
    int64_t code;
    int64_t left, right;  // the keys below it
};

class Builder {
public:
    Builder(const char* bytes, const int64_t* offsets, int64_t K, const int32_t* values)
        : bytes_(bytes), offsets_(offsets), K_(K), values_(values) {}

    std::vector<DoubleArrayUnit> build() {
        grow(8192);
        units_[0].base = 1;
        open(0, K_, 0);
        while (depth_ > 0) {
            Node& node = nodes_[size_t(depth_ - 1)];
            if (node.next == node.children.size()) {
                --depth_;
                continue;
            }
            const Child child = node.children[node.next++];
            DoubleArrayUnit& unit = units_[size_t(node.base + child.code)];
            if (child.code == 0)
                unit.base = -values_[child.left] - 1;
            else
                open(child.left, child.right, node.base + child.code);
        }
        units_.resize(size_t(size_ + kCodes));
        return std::move(units_);
    }

private:
    struct Node {
        int64_t base;
        size_t next;
        std::vector<Child> children;
    };

    const char* bytes_;
    const int64_t* offsets_;
    int64_t K_;
    const int32_t* values_;
    std::vector<DoubleArrayUnit> units_;
    std::vector<bool> taken_;  // bases
    int64_t size_ = 0, from_ = 0;
    std::vector<Node> nodes_;  // from the root to where we are; those past depth_ keep their memory
    int64_t depth_ = 0;

    void grow(int64_t size) {
        if (size <= int64_t(units_.size())) return;
        const size_t room = std::max(size_t(size), units_.size() + units_.size() / 2);
        units_.resize(room, {0, 0});
        taken_.resize(room, false);
    }

    // Go to the node of keys left … right − 1, which agree in the first depth_ bytes, and give it a base.
    void open(int64_t left, int64_t right, int64_t unit) {
        if (depth_ == int64_t(nodes_.size())) nodes_.emplace_back();
        Node& node = nodes_[size_t(depth_)];
        node.next = 0;
        node.children.clear();
        for (int64_t k = left; k < right; ++k) {
            const int64_t at = offsets_[k] + depth_;
            const int64_t code = at < offsets_[k + 1] ? int64_t(uint8_t(bytes_[at])) + 1 : 0;
            if (node.children.empty() || node.children.back().code != code) node.children.push_back({code, k, k});
            node.children.back().right = k + 1;
        }
        ++depth_;
        if (node.children.empty()) return;
        node.base = place(node.children);
        if (unit > 0) units_[size_t(unit)].base = int32_t(node.base);
    }

    int64_t place(const std::vector<Child>& children) {
        const int64_t first = children.front().code, last = children.back().code;
        int64_t position = std::max(first + 1, from_), taken = 0, base = 0;
        bool seen_free = false;
        for (;; ++position) {
            grow(position + kCodes);
            if (units_[size_t(position)].check != 0) {
                ++taken;
                continue;
            }
            if (!seen_free) from_ = position;
            seen_free = true;
            base = position - first;
            if (!taken_[size_t(base)] && fits(children, base)) break;
        }
        if (double(taken) / double(position - from_ + 1) >= 0.95) from_ = position;
        taken_[size_t(base)] = true;
        size_ = std::max(size_, base + last + 1);
        for (const Child& child : children) units_[size_t(base + child.code)].check = uint32_t(base);
        return base;
    }

    bool fits(const std::vector<Child>& children, int64_t base) const {
        return std::all_of(children.begin(), children.end(),
                           [&](const Child& child) { return units_[size_t(base + child.code)].check == 0; });
    }
};

}  // namespace

std::vector<DoubleArrayUnit> build_double_array(const char* bytes, const int64_t* offsets, int64_t K,
                                                const int32_t* values) {
    return Builder(bytes, offsets, K, values).build();
}

bool read_double_array(const DoubleArrayUnit* units, int64_t size, int64_t most_bytes, KeyList& keys) {
    struct Place {
        int64_t base, code;
    };
    if (size < 1) return false;
    std::vector<bool> seen(size_t(size), false);  // a unit has one way to it, or the array has a loop
    std::vector<Place> path{{units[0].base, 0}};
    std::string key;
    while (!path.empty()) {
        Place& place = path.back();
        const int64_t base = place.base;
        if (base < 1) return false;
        const int64_t codes = std::min(kCodes, size - base);
        while (place.code < codes && int64_t(units[base + place.code].check) != base) ++place.code;
        if (place.code >= codes) {
            path.pop_back();
            if (!path.empty()) key.pop_back();
            continue;
        }
        const int64_t code = place.code++, unit = base + code;
        if (seen[size_t(unit)]) return false;
        seen[size_t(unit)] = true;
        if (code > 0) {
            key.push_back(char(uint8_t(code - 1)));
            path.push_back({units[unit].base, 0});
            continue;
        }
        if (units[unit].base >= 0 || int64_t(keys.bytes.size() + key.size()) > most_bytes) return false;
        keys.bytes += key;
        keys.offsets.push_back(int64_t(keys.bytes.size()));
        keys.values.push_back(-(units[unit].base + 1));
    }
    return true;
}

}  // namespace tagline
