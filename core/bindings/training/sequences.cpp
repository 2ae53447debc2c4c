// One sentence at a time, from Python's dicts and lists of strings to labels: what python-crfsuite's names stand on.
#include "bindings/lists.h"
#include "bindings/module.h"
#include "bindings/features/token_reader.h"
#include "bindings/training/training.h"
#include "bindings/features/vocabulary.h"
#include "features/names/named_sentence.h"
#include "training/flat_weights.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

namespace tagline::bindings {

namespace {

// A sentence that was read, to be used again.
struct ItemSequence {
    NamedSentence sentence;
};

// Reads sentences; an ItemSequence is taken as it is.
class SequenceReader {
public:
    // Call use(sentence). Objects that are read may run code of their own, which may come back here, from this thread
    // or another: memory that is in use is therefore out of reach.
    template <class Use>
    void read(nb::handle items, const Use& use) {
        if (nb::isinstance<ItemSequence>(items)) return use(nb::cast<const ItemSequence&>(items).sentence);
        NamedSentence sentence = std::move(spare_);
        fill(items, sentence);
        use(sentence);
        spare_ = std::move(sentence);
    }

    static void fill(nb::handle items, NamedSentence& sentence) {
        PyObject* object = items.ptr();
        if (is_text(object) || is_mapping(object) || !is_iterable(object))
            refuse("xseq: expected a list of tokens, each a dict or a list of strings, got " + kind_of(object));
        TokenReader reader("xseq: sentence ");
        reader.begin_sentence();
        sentence.clear();
        const nb::object tokens = steady(owned(PySequence_Fast(object, "xseq")));
        for (Py_ssize_t t = 0; t < PySequence_Fast_GET_SIZE(tokens.ptr()); ++t) {
            const nb::object token = nb::borrow(PySequence_Fast_GET_ITEM(tokens.ptr(), t));
            fetch_ahead(tokens.ptr(), t);
            sentence.add(reader.read(token.ptr()));
        }
    }

private:
    NamedSentence spare_;
};

nb::list as_dicts(const ItemSequence& self) {
    nb::list tokens;
    for (int64_t t = 0; t < self.sentence.length(); ++t) {
        nb::dict token;
        for (const NamedSentence::Attribute& attribute : self.sentence.token(t)) {
            const std::string_view name = self.sentence.name(attribute);
            token[nb::str(name.data(), name.size())] = attribute.value;
        }
        tokens.append(token);
    }
    return tokens;
}

// Sentences to learn from, one after the other; names are numbered in the order of their first use.
struct SequenceRows {
    SequenceReader reader;
    Names names;
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> ids;
    std::vector<double> values;

    int64_t append(nb::handle items) {
        int64_t length = 0;
        reader.read(items, [&](const NamedSentence& sentence) {
            length = sentence.length();
            for (int64_t t = 0; t < length; ++t) {
                for (const NamedSentence::Attribute& attribute : sentence.token(t)) {
                    ids.push_back(names.intern(sentence.name(attribute)));
                    values.push_back(attribute.value);
                }
                offsets.push_back(int64_t(ids.size()));
            }
        });
        return length;
    }

    void drop(int64_t tokens) {
        offsets.resize(offsets.size() - size_t(std::min<int64_t>(tokens, int64_t(offsets.size()) - 1)));
        ids.resize(size_t(offsets.back()));
        values.resize(size_t(offsets.back()));
    }

    auto arrays() const {
        return std::make_tuple(adopt(std::vector<int64_t>(offsets)), adopt(std::vector<int32_t>(ids)),
                               adopt(std::vector<double>(values)));
    }

    nb::list list_names() const {
        nb::list out;
        for (int64_t id = 0; id < names.size(); ++id) {
            const std::string_view name = names.name(id);
            out.append(nb::str(name.data(), name.size()));
        }
        return out;
    }
};

// A model of (attribute, label) and (label, label) weights that labels one sentence after the other.
class SequenceTagger {
public:
    SequenceTagger(const VocabularyParts& attributes, const Array& offsets, const Array& labels, const Array& weights,
                   const Array& transitions, const nb::list& names)
        : parts_(attributes), vocabulary_(as_vocabulary(attributes)), names_(names),
          weights_(as_weights(offsets, labels, weights, int64_t(names_.size()))), decoder_(weights_.L) {
        const int64_t L = weights_.L;
        if (vocabulary_.size + 1 != int64_t(offsets.size()))
            throw nb::value_error("attributes: expected as many as the weights have");
        const double* between = checked<double>("transitions", transitions, {L, L});
        weights_.transitions.assign(between, between + L * L);
        decoder_.use(weights_.transitions.data());
    }

    int64_t set(nb::handle items) {
        reader_.read(items, [&](const NamedSentence& sentence) { score(sentence); });
        return T_;
    }

    nb::list best() {
        nb::list labels = new_list(T_);
        while (PyList_GET_SIZE(labels.ptr()) != T_) labels = new_list(T_);  // another sentence came in between
        decode(labels);
        return labels;
    }

    nb::list tag(nb::handle items) {
        nb::list labels;
        reader_.read(items, [&](const NamedSentence& sentence) {
            labels = new_list(sentence.length());
            score(sentence);
            decode(labels);
        });
        return labels;
    }

    nb::list tag_many(nb::handle sentences) {
        nb::list out;
        const nb::object iterator = owned(PyObject_GetIter(sentences.ptr()));
        for (int64_t b = 1; PyObject* next = PyIter_Next(iterator.ptr()); ++b) {
            const nb::object sentence = nb::steal(next);
            out.append(tag(sentence));
            if (b % 256 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        if (PyErr_Occurred()) throw nb::python_error();
        return out;
    }

    Result<double> emissions() const {
        Result<double> out = make<double>({size_t(T_), size_t(weights_.L)});
        std::copy(emissions_.begin(), emissions_.end(), out.data());
        return out;
    }

    int64_t length() const { return T_; }

private:
    VocabularyParts parts_;  // kept alive
    VocabularyView vocabulary_;
    nb::tuple names_;
    FlatWeights weights_;
    FlatDecoder decoder_;
    SequenceReader reader_;
    NamedSentence::Numbers numbers_;
    std::vector<double> emissions_;
    std::vector<int64_t> path_;
    int64_t T_ = 0;

    // Making a list may run the garbage collector, and with it any code; from `score` to the end of `decode` none runs.
    static nb::list new_list(int64_t size) {
        return nb::steal<nb::list>(owned(PyList_New(Py_ssize_t(size))).release());
    }

    void score(const NamedSentence& sentence) {
        sentence.look_up(vocabulary_, numbers_);
        T_ = sentence.length();
        emissions_.resize(size_t(T_ * weights_.L));
        weights_.emit(T_, numbers_.offsets.data(), numbers_.ids.data(),
                      numbers_.values.empty() ? nullptr : numbers_.values.data(), emissions_.data());
    }

    void decode(const nb::list& labels) {
        path_.resize(size_t(T_));
        decoder_.find(emissions_.data(), T_, path_.data());
        for (int64_t t = 0; t < T_; ++t) {
            PyObject* name = PyTuple_GET_ITEM(names_.ptr(), Py_ssize_t(path_[size_t(t)]));
            Py_INCREF(name);
            PyList_SET_ITEM(labels.ptr(), Py_ssize_t(t), name);
        }
    }

    static FlatWeights as_weights(const Array& offsets, const Array& labels, const Array& weights, int64_t L) {
        const int64_t* begins = checked<int64_t>("offsets", offsets, {-1});
        const int32_t* of = checked<int32_t>("labels", labels, {-1});
        const double* values = checked<double>("weights", weights, {int64_t(labels.size())});
        if (L < 1 || offsets.size() < 1) throw nb::value_error("names: expected at least one label");
        rising("offsets", begins, int64_t(offsets.size()), int64_t(labels.size()));
        if (std::any_of(of, of + labels.size(), [&](int32_t label) { return label < 0 || label >= L; }))
            throw nb::value_error("labels: expected numbers of labels");
        FlatWeights out(L, int64_t(offsets.size()) - 1, begins, of);
        for (size_t k = 0; k < out.cells.size(); ++k) out.cells[k].value = values[k];
        return out;
    }
};

}  // namespace

void bind_sequences(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ItemSequence>(m, "ItemSequence", "The attributes of a sentence, read once.")
        .def("__init__", [](ItemSequence* self, nb::handle items) {
            new (self) ItemSequence();
            if (nb::isinstance<ItemSequence>(items))
                self->sentence = nb::cast<const ItemSequence&>(items).sentence;
            else
                SequenceReader::fill(items, self->sentence);
        }, "items"_a)
        .def("items", as_dicts, "Return the attributes of each token as a dict of names and values.")
        .def("__len__", [](const ItemSequence& self) { return self.sentence.length(); });
    nb::class_<SequenceRows>(m, "SequenceRows", "Sentences to learn from, numbered one after the other.")
        .def(nb::init<>())
        .def("append", &SequenceRows::append, "items"_a, nb::lock_self(), "Take a sentence; returns its length.")
        .def("drop", &SequenceRows::drop, "tokens"_a, nb::lock_self(), "Take back the last tokens.")
        .def("arrays", &SequenceRows::arrays, nb::lock_self(), "Return (offsets of tokens [N + 1], ids [M], values [M]).")
        .def("names", &SequenceRows::list_names, nb::lock_self(), "Return the names of the attributes by number.");
    nb::class_<SequenceTagger>(m, "SequenceTagger", "Labels for one sentence after the other, by weights in float64.")
        .def(nb::init<const VocabularyParts&, const Array&, const Array&, const Array&, const Array&, const nb::list&>(),
             "attributes"_a, "offsets"_a, "labels"_a, "weights"_a, "transitions"_a, "names"_a)
        .def("set", &SequenceTagger::set, "items"_a, nb::lock_self(), "Take a sentence; returns its length.")
        .def("best", &SequenceTagger::best, nb::lock_self(), "Return the best labels of the sentence.")
        .def("tag", &SequenceTagger::tag, "items"_a, nb::lock_self(), "Take a sentence and return its best labels.")
        .def("tag_many", &SequenceTagger::tag_many, "sentences"_a, nb::lock_self(), "Return the best labels of each sentence.")
        .def("emissions", &SequenceTagger::emissions, nb::lock_self(), "Return the scores of the sentence's tokens [T, L].")
        .def_prop_ro("length", &SequenceTagger::length, nb::lock_self());
}

}  // namespace tagline::bindings
