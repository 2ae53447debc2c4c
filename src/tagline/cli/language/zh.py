"""The Chinese texts of the command line, by their English ones; see `tables` for how gaps are written.

The words: 标注 labelling, 标签 tag, 句子 sentence, 词元 token, 片段 span, 实体 entity, 开发集 dev set.
"""

from __future__ import annotations

HELP = {
    "Usage:": "用法：",
    "Options": "选项",
    "Arguments": "参数",
    "Commands": "命令",
    "Commands of other tools": "其他工具的命令",
    "Train as crf_learn of CRF++ does: template train model.": "像 CRF++ 的 crf_learn 一样训练：模板 训练文件 模型。",
    "Tag as crf_test of CRF++ does: -m model files.": "像 CRF++ 的 crf_test 一样标注：-m 模型 文件。",
    "Train, tag and dump as crfsuite does: learn|tag|dump.": "像 crfsuite 一样训练、标注和导出：learn|tag|dump。",
    "Train and label as wapiti does: train|label|dump|update.": "像 wapiti 一样训练和标注：train|label|dump|update。",
    "[OPTIONS]": "[选项]",
    "COMMAND [ARGS]...": "命令 [参数]...",
    "[default: {}]": "[默认：{}]",
    "[{#} to {#}]": "[{} 到 {}]",
    "[required]": "[必需]",
    "Try '{} --help' for help.": "{} --help 显示帮助。",
    "Show this message and exit.": "显示此帮助并退出。",
    "Print the version and stop.": "显示版本并退出。",
    "Examples:": "示例：",
    "Example:": "示例：",
    "Models:": "模型：",
    "Data": "数据",
    "Model": "模型",
    "Networks: bilstm, transformer": "神经网络：bilstm、transformer",
    "Training": "训练",
    "Messages": "提示",
    "Reading": "读取",
    "Questions": "提问",
    "Writing": "输出",
    # The commands.
    "Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs.": (
        "线性链序列标注：HMM、特征 CRF 和神经 CRF 共用一个精确推断引擎。"
    ),
    "Train a model, from labelled sentences to a file.": "用带标签的句子训练模型，写成一个文件。",
    "Ctrl-C ends training early: what was learned so far is saved, and the exit code is 130.": (
        "Ctrl-C 提前结束训练：已学到的内容会保存，退出码为 130。"
    ),
    "Tag sentences with a model; answers go to stdout, or to files.": "用模型标注句子；结果写到标准输出或文件。",
    "Columns come out as they came in, with the tag behind them. Columns that the model does not look at, such as the "
    "right tags, are kept, so that tagline eval can read the last two. Standard input is answered sentence by "
    "sentence. What comes before a broken sentence is written; --lenient leaves broken ones out, and counts them. "
    "--ray tags files in many processes or on many machines, goes on where it was stopped, and puts broken sentences "
    "aside.": (
        "各列原样输出，标签加在最后。模型不看的列（例如正确标签）会保留，tagline eval 读取最后两列即可评测。"
        "标准输入逐句回答。出错的句子之前的结果都会写出；--lenient 跳过出错的句子并计数。"
        "--ray 用多个进程或多台机器标注文件，停下后可接着做，出错的句子另存。"
    ),
    "Show what a model has learned: labels, counts, the heaviest features and transitions, how it was trained.": (
        "显示模型学到了什么：标签、数量、权重最大的特征和转移、训练经过。"
    ),
    "Of an HMM: what each tag emits most often, and which tag follows which, with their probabilities.": (
        "对 HMM：每个标签最常发射什么、哪个标签之后是哪个标签，附概率。"
    ),
    "Say why each token got its tag and not the runner-up: what spoke for it (+) and against it (−).": (
        "说明每个词元为什么得到这个标签而不是第二名：支持的理由（+）和反对的理由（−）。"
    ),
    "Train a tagger for English and Chinese on generated sentences, score it, tag two sentences, explain one tag.": (
        "用生成的句子训练一个中英文标注器，评测，标注两个句子，并解释一个标签。"
    ),
    "Say which engine answers, on which instruction set and how many threads.": "显示所用的引擎、指令集和线程数。",
    "Count sentences, tokens, labels and entities of a corpus, and name its tag scheme.": (
        "统计语料的句子、词元、标签和实体，并指出标注体系。"
    ),
    "Score predicted tags: spans as conlleval, or strictly; words; tokens; significance; pictures.": (
        "评测预测的标签：片段（按 conlleval 的规则，或严格计分）、分词、词元、显著性、图。"
    ),
    "Rewrite the tags of a column file in another scheme.": "把列文件的标签改写成另一种标注体系。",
    # tagline train.
    "Labelled sentences: columns with the tag last, .jsonl, .conllu; .gz of each.": (
        "带标签的句子：标签在最后一列的列文件、.jsonl、.conllu；均可为 .gz。"
    ),
    "The model to write.": "要写出的模型文件。",
    "What to train: one of the models below.": "训练哪种模型：见下。",
    "Labelled sentences to score after each pass; the best weights are kept.": (
        "开发集：每遍训练后评测的带标签句子；保留最好的权重。"
    ),
    "columns, jsonl, conllu, or words (segmented text, a sentence a line); by the file's name if left out.": (
        "columns（列）、jsonl、conllu 或 words（分好词的文本，一行一句）；省略时按文件名判断。"
    ),
    "The column to learn, a number from 0 or a name; the last if left out. Columns before it are features, those "
    "behind it are left out.": "要学习的列：从 0 起的序号或列名，省略时为最后一列。它前面的列是特征，后面的列不用。",
    "How texts of JSON lines are cut: words, characters or whitespace.": (
        "JSON 行中的文本如何切分：words（词）、characters（字）或 whitespace（空白）。"
    ),
    "Of the input; auto: UTF-8, or GB18030 where it is that. What is written is UTF-8.": (
        "输入的编码；auto 为 UTF-8，确认是 GB18030 时按 GB18030 读。输出总是 UTF-8。"
    ),
    "Skip broken sentences and report them.": "跳过有错的句子并报告。",
    "A CRF++ template, or a ready-made set: english_ner, chinese_ner, chunking, pos, segmentation. Left out: the set "
    "that suits the data.": (
        "CRF++ 模板文件，或现成的模板：english_ner、chinese_ner、chunking、pos、segmentation。省略时按数据选择。"
    ),
    "A folder for compiled training data, which need not fit into memory then.": (
        "存放编译后训练数据的目录；这样数据不必装得进内存。"
    ),
    "A model that knows the labels, whose probabilities are learned: a large one teaches a small one.": (
        "教师模型：认识这些标签，学的是它的概率；大模型教小模型。"
    ),
    "The share of the teacher where there are tags, above 0; 1 if left out, which leaves the tags out of account.": (
        "有标签处教师所占的份额，大于 0；省略时为 1，即不看标签。"
    ),
    "Sentences without tags for --teacher: columns, JSON lines or raw text.": (
        "供 --teacher 使用的无标签句子：列文件、JSON 行或纯文本。"
    ),
    "The tag scheme whose rules hold: IOB1, IOB2, BIOES, BMES …; auto detects it, none is no rules.": (
        "标注体系，其规则始终成立：IOB1、IOB2、BIOES、BMES……；auto 自动检测，none 不用规则。"
    ),
    "Tags that break the rules: repair, drop the sentence, or error.": (
        "违反规则的标签：repair（修复）、drop（丢弃句子）或 error（报错）。"
    ),
    "Leave out attributes that are rarer.": "出现次数少于此数的属性不用。",
    "Tokens of the longest segment of a semicrf; that of the training data, up to 12, if left out.": (
        "semicrf 的片段最多含多少个词元；不给时取训练数据中最长的片段，但不超过 12。"
    ),
    "Leave out an attribute with a label, or a label pair, that is rarer; CRFsuite's feature.minfreq.": (
        "属性与标签的组合或标签对，出现次数少于此数的不用；即 CRFsuite 的 feature.minfreq。"
    ),
    "Weights for attributes with labels never seen together.": "没有一起出现过的属性与标签也有权重。",
    "Weights for label pairs that were never seen.": "没有出现过的标签对也有权重。",
    "Weights for the first and the last label.": "首尾标签也有权重。",
    "How much sentences with a label count: balanced, or B-PER=2,B-LOC=0.5.": (
        "含某标签的句子占多大分量：balanced，或 B-PER=2,B-LOC=0.5。"
    ),
    "Words and their clusters, as tagline cluster writes them; several files with commas between.": (
        "词及其类别，格式如 tagline cluster 的输出；多个文件用逗号隔开。"
    ),
    "Word vectors as features: GloVe, word2vec or fastText as text, .gz or not.": (
        "用作特征的词向量：GloVe、word2vec 或 fastText 的文本格式，可以是 .gz。"
    ),
    "2: weights of label triples, too, as the training data show them.": (
        "2：再给训练数据中出现过的标签三元组各一个权重。"
    ),
    "With --order 2: leave out labels that order 1 finds less probable at a token, 0.001 for instance; 0, none.": (
        "配合 --order 2：一阶模型认为某个词元的某标签概率低于此值时不再考虑，例如 0.001；0 表示不剪枝。"
    ),
    "2: a first model's labels in the rest of the document are features; -DOCSTART- begins a document.": (
        "2：第一个模型在文档其余部分给出的标注用作特征；-DOCSTART- 表示文档开始。"
    ),
    "Look at the words beside so many other mentions of a word in its document.": (
        "看词在文档中另外多少处出现时左右的词。"
    ),
    "Phrases whose matches are features: a phrase a line and, after a TAB, its type, else the file's name; several "
    "files with commas between.": (
        "词典，匹配结果用作特征：每行一个词语，TAB 之后是类型，没有则取文件名；多个文件用逗号隔开。"
    ),
    "Matches of the entities of other training sentences are features.": "其他训练句子中的实体，其匹配结果用作特征。",
    "Where documents are, for --stages, --mentions and --context: a column, by name, or a file with the number of "
    "sentences of each. Left out: -DOCSTART- begins one.": (
        "文档在哪里，供 --stages、--mentions 和 --context 使用：列名，或每行一个句数的文件。省略时由 -DOCSTART- 开始。"
    ),
    "The same for --dev; left out: as --documents, where that is a column.": (
        "--dev 的文档，写法相同；省略时若 --documents 是列名则与之相同。"
    ),
    "For transformer: words of neighbouring sentences of the document to read on each side; 0.": (
        "用于 transformer：在文档中左右各读多少个相邻句子的词，默认 0。"
    ),
    "Where documents are, for a model that reads them: a column, by name, or a file with the number of sentences of "
    "each. Left out: -DOCSTART- begins one.": (
        "文档在哪里，供看文档的模型使用：列名，或每行一个文档句数的文件。省略时由 -DOCSTART- 开始。"
    ),
    "For a model that reads documents: a text with the sentences of the document that this one is in.": (
        "用于看文档的模型：含有这句话的文档，纯文本。"
    ),
    "Texts with a sentence a line, .gz or not; with --vectors one file of word vectors.": (
        "每行一句的文本，可以是 .gz；加 --vectors 时为一个词向量文件。"
    ),
    "The file to write: cluster, TAB, word, TAB, count.": "要写出的文件：类别、TAB、词、TAB、次数。",
    "How many clusters to make.": "聚成多少类。",
    "Cluster word vectors by k-means; otherwise text by Brown's algorithm.": (
        "用 k-means 对词向量聚类；否则用 Brown 算法对文本中的词聚类。"
    ),
    "Leave out words of a text that are rarer.": "略去文本中出现更少的词。",
    "How texts are cut: whitespace, words or characters.": "文本如何切分：whitespace、words 或 characters。",
    "Of k-means, at most.": "k-means 的最多遍数。",
    "Of the first centres of k-means.": "k-means 初始中心的随机种子。",
    "Make clusters of words, from text or from word vectors, for tagline train --clusters.": (
        "由文本或词向量得到词的类别，供 tagline train --clusters 使用。"
    ),
    "Ctrl-C ends it: nothing is written then, and the exit code is 130.": (
        "按 Ctrl-C 终止：不写出任何文件，退出码为 130。"
    ),
    "{}: {} words in {} clusters": "{}：{} 个词，{} 类",
    "clustering": "聚类",
    "Number attributes by so many bits of a hash and keep no names.": "用这么多位的散列给属性编号，不保存属性名。",
    "Of an HMM's counts: add-k, witten-bell or dirichlet (no prior).": (
        "HMM 计数的平滑：add-k、witten-bell 或 dirichlet（无先验）。"
    ),
    "Pseudo-count of --smoothing add-k.": "--smoothing add-k 所加的数。",
    "Words that an HMM never saw: smooth, or error.": "HMM 没见过的词：smooth（平滑）或 error（报错）。",
    "Word vectors for bilstm: GloVe, word2vec or fastText as text, .gz or not, or a folder with a pretrained encoder, "
    "whose vectors are taken.": (
        "bilstm 的词向量：GloVe、word2vec 或 fastText 文本格式，可为 .gz；或预训练编码器的目录，取其词向量。"
    ),
    "For transformer: a folder with a pretrained encoder, or its name on the Hugging Face hub.": (
        "用于 transformer：预训练编码器的目录，或它在 Hugging Face hub 上的名称。"
    ),
    "Size of the LSTM in each direction; 200.": "LSTM 每个方向的大小；200。",
    "crf, or softmax, which decides on each token by itself; crf.": "crf，或逐个词元单独判断的 softmax；crf。",
    "Passes at most; 30 for bilstm, 5 for transformer.": "最多训练几遍；bilstm 30，transformer 5。",
    "Sentences of a step; 16 for bilstm, 32 for transformer.": "每步的句子数；bilstm 16，transformer 32。",
    "The highest; 2e-3 for bilstm, 5e-5 for transformer.": "最高学习率；bilstm 2e-3，transformer 5e-5。",
    "cpu, cuda, cuda:1 …; a GPU where there is one.": "cpu、cuda、cuda:1……；有 GPU 时用 GPU。",
    "A TOML file with these and all other settings of a network, by their names in Python; options win over it. The "
    "whole configuration is saved beside the model.": (
        "TOML 文件，按 Python 中的名称给出网络的各项设置；命令行选项优先。完整配置会保存在模型旁边。"
    ),
    "A file for the state of training, written after each epoch.": "训练断点文件，每遍结束后写出。",
    "Go on from --checkpoint, if it is there.": "--checkpoint 文件存在时从那里继续。",
    "Add a line of JSON to this file after each epoch.": "每遍结束后向此文件追加一行 JSON。",
    "A folder for TensorBoard, which must be installed.": "TensorBoard 目录；需要安装 TensorBoard。",
    "auto (stochastic passes, then L-BFGS), lbfgs, owlqn, sgd, gd, iis, ap, pa, arow; settings of its own stand behind "
    "a colon: lbfgs:memory=20,epsilon=1e-6.": (
        "auto（先随机梯度，后 L-BFGS）、lbfgs、owlqn、sgd、gd、iis、ap、pa、arow；算法自己的设置写在冒号之后："
        "lbfgs:memory=20,epsilon=1e-6。"
    ),
    "Penalty c1·Σ|w|; makes weights 0.": "惩罚项 c1·Σ|w|；使权重变为 0。",
    "Penalty c2·Σw²; CRF++'s -c C is 1/(2C).": "惩罚项 c2·Σw²；CRF++ 的 -c C 相当于 1/(2C)。",
    "Passes at most; no limit if left out.": "最多训练几遍；省略时不限。",
    "Stop after this time and keep what there is.": "到这么多秒就停，保留已学到的。",
    "With --dev: stop after so many passes without a better score; 0 never.": (
        "有 --dev 时：连续这么多遍没有更好的成绩就停；0 表示不停。"
    ),
    "Stop where the objective is proven to be within this share of its optimum (1e-4: 0.01 %), not by the algorithm's "
    "epsilon or delta.": (
        "已证明目标函数高出最优值不超过此比例（1e-4 即 0.01 %）时停止，不再看算法的 epsilon 和 delta。"
    ),
    "Of the order of sentences.": "随机种子，决定句子的顺序。",
    "By default TAGLINE_THREADS or one a core.": "线程数；默认为 TAGLINE_THREADS 或每核一个。",
    "Tell nothing.": "不显示任何提示。",
    "A line for every pass.": "每遍显示一行。",
    "Print the facts as JSON to stdout.": "把结果以 JSON 写到标准输出。",
    # The kinds of models.
    "features of words and their neighbours, by a template: accurate, trained on a CPU in seconds to minutes, looks "
    "at all columns. The one to begin with": (
        "按模板取词及其邻近的特征：准确，在 CPU 上几秒到几分钟训练完，能看所有的列。建议从它开始"
    ),
    "a CRF's features, each token normalised by itself after the label before it: passes are shorter with many labels, "
    "label bias costs accuracy; a baseline": (
        "用 CRF 的特征，但每个词元在前一个标签之后各自归一化：标签多时每遍更快，标注偏置使准确率下降；适合作基线"
    ),
    "a CRF's features, each token labelled by itself: for labels that do not depend on their neighbours, and to see "
    "what transitions are worth": "用 CRF 的特征，但每个词元单独标注：适合标签与邻近标签无关的情形，或看转移值多少",
    "each tag emits words and follows a tag: counted in a second, one column; a baseline, or few data": (
        "标签发射词，标签接着标签：一秒内数完，只看一列；适合作基线，或数据很少时"
    ),
    "a CRF whose units are whole segments, words or names, with features of the segment: its string, length, words "
    "beside it, how often it was seen. For word segmentation and long names; slower than crf": (
        "以整个片段（词或名称）为单位的 CRF，特征取自整段：字符串、长度、两侧的词、出现过多少次。"
        "适合分词和较长的名称；比 crf 慢"
    ),
    "parts of speech by two tags before and word endings: counted in seconds, tags the fastest": (
        "看前两个标签和词尾来标词性：几秒内数完，标注最快"
    ),
    "a network that reads words and their characters in both directions, a CRF on top: for thousands of sentences, "
    "best with --embeddings; takes minutes on a CPU. Needs PyTorch": (
        "双向读词和字符的网络，上面是 CRF：适合几千个句子，最好加 --embeddings；在 CPU 上要几分钟。需要 PyTorch"
    ),
    "a pretrained --encoder (BERT and its kin), a CRF over its words: it knows the language already, so the most "
    "accurate on unseen words and with few sentences; wants a GPU. Needs PyTorch and transformers": (
        "预训练的 --encoder（BERT 一类），上面是 CRF：已经懂得语言，生词多、句子少时最准；最好有 GPU。"
        "需要 PyTorch 和 transformers"
    ),
    # tagline tag.
    "A model that tagline train wrote.": "tagline train 写出的模型。",
    "Files, .gz or not; - or none for standard input.": "文件，可为 .gz；- 或省略表示标准输入。",
    "columns (a token a line), jsonl, text (a sentence a line) or words (segmented text); by the file's name and its "
    "look.": "columns（一行一个词元）、jsonl、text（一行一句）或 words（分好词的文本）；省略时按文件名和内容判断。",
    "How text is cut: words, characters, whitespace; auto as the model's tokens were.": (
        "文本如何切分：words（词）、characters（字）、whitespace（空白）；auto 与模型训练时一样。"
    ),
    "Split lines of raw text into sentences.": "把纯文本的行切分成句子。",
    "Leave out -DOCSTART- lines of columns.": "略去列文件中的 -DOCSTART- 行。",
    "Leave out lines of columns that begin with this.": "略去列文件中以此开头的行。",
    "Add the probability of each tag.": "加上每个标签的概率。",
    "So many labellings with their probabilities.": "给出前 k 个标注及其概率。",
    "Entities with their exact probabilities; in columns, a table of them.": ("实体及其精确概率；列格式时输出实体表。"),
    "With --spans: leave out those below.": "与 --spans 一起：略去概率低于此值的。",
    "A file; for several inputs a folder, with a file for each. Left out: standard output.": (
        "输出文件；有几个输入时为目录，每个输入一个文件。省略时为标准输出。"
    ),
    "columns, jsonl, brackets, html, words (with blanks between them), conllu or spans-csv; left out: jsonl for .jsonl "
    "files, else columns.": (
        "columns、jsonl、brackets（括号）、html、words（词间空格）、conllu 或 spans-csv；"
        "省略时 .jsonl 文件为 jsonl，其余为 columns。"
    ),
    "No progress on the terminal.": "终端上不显示进度。",
    # --ray and tagline tune.
    "Several machines": "多台机器",
    "Work on Ray: at this address, such as 10.0.0.1:6379, or started on this machine without one.": (
        "在 Ray 上运行：给出地址（如 10.0.0.1:6379）则连接该集群，不给则在本机启动。"
    ),
    "With --ray: so many processes; one a processor by default.": "与 --ray 一起：进程数；默认每个处理器一个。",
    "Try settings of a model on a dev set, and save the best model.": "在开发集上试各种设置，保存最好的模型。",
    "Settings are drawn at random. All are trained for a few passes; the best third goes on for three times as many, "
    "and so on. Features of column files are compiled once. The table goes to stdout; the folder keeps all trials, the "
    "table and a picture of which settings mattered. Stopped by Ctrl-C or killed, the same command goes on.": (
        "设置随机抽取。先全部训练少数几遍；最好的三分之一再训练三倍的遍数，依此类推。列文件的特征只编译一次。"
        "结果表写到标准输出；目录中保存所有试验、结果表和一张说明哪些设置重要的图。按 Ctrl-C 或被终止后，"
        "用同一命令即可接着做。"
    ),
    "Labelled sentences, as tagline train takes them.": "带标签的句子，与 tagline train 相同。",
    "Labelled sentences that trials are scored on.": "给试验打分用的带标签句子。",
    "The model to write, that of the best trial.": "要写出的模型，即最好的试验的模型。",
    "What to train, as tagline train --model.": "训练哪种模型，与 tagline train --model 相同。",
    "How many settings are tried.": "试多少组设置。",
    "A TOML file that says what is tried; left out: c1, c2 and min_frequency of a CRF.": (
        "说明试哪些设置的 TOML 文件；省略时为 CRF 的 c1、c2 和 min_frequency。"
    ),
    "Of the trials that get to the last round; 90, of networks 18 epochs.": (
        "进入最后一轮的试验训练多少遍；默认 90，网络为 18 轮。"
    ),
    "Of the trials, which the same command goes on with; MODEL.tune if left out.": (
        "存放试验的目录，同一命令可接着做；省略时为 模型名.tune。"
    ),
    "Of the draws.": "抽取用的随机种子。",
    "columns, jsonl, conllu or words; by the file's name if left out.": (
        "columns、jsonl、conllu 或 words；省略时按文件名判断。"
    ),
    "The column to learn, a number from 0 or a name; the last if left out.": (
        "要学习的列，从 0 起的序号或列名；省略时为最后一列。"
    ),
    "Trials at once; one a processor by default.": "同时进行的试验数；默认每个处理器一个。",
    # tagline inspect and explain.
    "Features of each label, and transitions, to show.": "每个标签显示多少个特征，以及显示多少个转移。",
    "Features of this label only.": "只显示这个标签的特征。",
    "Print JSON instead of text.": "输出 JSON 而不是文本。",
    "Write all weights to this file: .csv, or .jsonl for JSON lines.": "把全部权重写到此文件：.csv，或 .jsonl。",
    "Draw the transitions as .png, .svg or .pdf; needs matplotlib.": "把转移画成 .png、.svg 或 .pdf；需要 matplotlib。",
    "A sentence, or - to read it from stdin; word/column1/… where the model looks at several columns.": (
        "一个句子，或 - 表示从标准输入读取；模型看多列时写成 词/列1/……。"
    ),
    "This token only: the word, or its number from 0.": "只看这个词元：词本身，或从 0 起的序号。",
    "Reasons for each token.": "每个词元显示多少条理由。",
    # tagline demo, describe, eval and convert-tags.
    "Keep the corpus and the model in this folder, to try the other commands on.": (
        "把语料和模型留在此目录，供试用其他命令。"
    ),
    "A corpus: columns, .jsonl, .conllu; .gz of each; - for standard input.": (
        "语料：列文件、.jsonl、.conllu，均可为 .gz；- 表示标准输入。"
    ),
    "columns, jsonl, conllu, words or text; by the file's name if left out.": (
        "columns、jsonl、conllu、words 或 text；省略时按文件名判断。"
    ),
    "Columns with gold and predicted tags last, as conlleval reads; or gold.": (
        "最后两列为正确标签和预测标签的列文件，与 conlleval 相同；或正确标签的文件。"
    ),
    "The same sentences, with predicted tags last.": "同样的句子，最后一列为预测标签。",
    "Of the tags: IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …": (
        "标签的体系：IOB1、IOB2、IOE1、IOE2、BIOES、BILOU、BMES……"
    ),
    "Read spans as the CoNLL script to the letter, whatever the scheme.": "完全按 CoNLL 脚本读取片段，不论标注体系。",
    "Count well-formed spans only, as seqeval's strict mode.": "只计合乎体系的片段，与 seqeval 的严格模式相同。",
    "Score tokens only; so are tags that are of no scheme, such as NN.": (
        "只评测词元；不属于任何体系的标签（如 NN）也是这样评测。"
    ),
    "Print a line for each type.": "每个类型输出一行。",
    "Add tokens, partial matches and mistakes.": "加上词元、部分匹配和错误。",
    "Another output of the same sentences, to be tested against.": "同样句子的另一份输出，与之比较。",
    "Bootstrap samples for an interval of F1; 0 for none.": "F1 置信区间的自助抽样次数；0 为不做。",
    "Of the random samples.": "随机抽样的种子。",
    "Write the report as a page to this file.": "把报告写成网页文件。",
    "Draw confusion and per-type pictures into this folder.": "把混淆矩阵和各类型的图画到此目录。",
    "columns, or words: two files of segmented text, a sentence a line.": (
        "columns，或 words：两个分好词的文件，一行一句。"
    ),
    "Of segmentation: the training text, for the recall of words that it does not have.": (
        "用于分词：训练语料，据此给出未登录词的召回率。"
    ),
    "A column file, .gz or not; - for standard input.": "列文件，可为 .gz；- 表示标准输入。",
    "The file to write; - for standard output.": "要写出的文件；- 表示标准输出。",
    "The scheme to write: IO, IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …": (
        "写成哪种体系：IO、IOB1、IOB2、IOE1、IOE2、BIOES、BILOU、BMES……"
    ),
    "The scheme of the file; detected if left out.": "文件的体系；省略时自动检测。",
    "The column of the tags, by name.": "标签所在的列名。",
    "What to do with improper sequences: raise, conlleval, discard.": (
        "不合体系的标签如何处理：raise（报错）、conlleval、discard（丢弃）。"
    ),
    # tagline serve.
    "Answer requests by HTTP, and show a page to try models on.": "以 HTTP 回答请求，并提供试用模型的网页。",
    "The page is at http://HOST:PORT/, the description of the service at /openapi.json. A model file that is replaced "
    "is taken over without losing a request. Ctrl-C or SIGTERM lets open requests finish.": (
        "网页在 http://HOST:PORT/，服务的说明在 /openapi.json。模型文件被替换时自动换用，不丢失任何请求。"
        "Ctrl-C 或 SIGTERM 会等进行中的请求完成。"
    ),
    "A model, or name=model; may be given several times.": "模型，或 名字=模型；可以给出多次。",
    "The address to listen on.": "监听的地址。",
    "The port to listen on.": "监听的端口。",
    "A file with a token that requests must bring; TAGLINE_TOKEN does the same.": (
        "存放令牌的文件，请求必须带上它；环境变量 TAGLINE_TOKEN 作用相同。"
    ),
    "Listen on other addresses without a token.": "没有令牌也监听其他地址。",
    "Tokens that a request may have.": "一个请求最多多少个词元。",
    "Bytes that a request may have.": "一个请求最多多少字节。",
    "Tokens of a request whose labels are explained.": "一个请求最多解释多少个词元的标签。",
    "Connections that may be open.": "最多同时打开多少个连接。",
    "Requests that are answered side by side; large ones leave one free.": (
        "同时处理多少个请求；大请求总会留出一个位置。"
    ),
    "A name under which the service is called, such as tagline.example.org; * for any. May be given several times.": (
        "访问服务所用的主机名，例如 tagline.example.org；* 表示任意主机名。可以给出多次。"
    ),
    "Requests that may wait; more are refused for a while.": "最多多少个请求排队；再多的暂时拒绝。",
    "Seconds that a request may take.": "一个请求最多用多少秒。",
    "Seconds that open requests have at the end.": "结束时留给进行中请求的秒数。",
    "Seconds between two looks at the model files, to take new ones; 0 for none.": (
        "每隔多少秒查看模型文件是否更新；0 为不查看。"
    ),
    "Let pages of this origin call the service, such as https://example.org.": (
        "允许此来源的网页调用，例如 https://example.org。"
    ),
    "Threads of the core; all processors if left out.": "核心的线程数；省略时使用全部处理器。",
    "Open the page in a browser.": "在浏览器中打开网页。",
    "Open a page on the model in a browser afterwards.": "然后在浏览器中打开这个模型的网页。",
    "How much is logged: debug, info, warning, error.": "日志的详细程度：debug、info、warning、error。",
    "{}  (Ctrl-C ends it)": "{}  （Ctrl-C 结束）",
    "A model; with --url, its name at the service.": "模型；用 --url 时是它在服务中的名字。",
    "Ask a service, such as http://127.0.0.1:8000; TAGLINE_TOKEN has its token.": (
        "向服务提问，例如 http://127.0.0.1:8000；令牌取自 TAGLINE_TOKEN。"
    ),
    # tagline convert-model.
    "Rewrite a model as a file of another tool, or another tool's as one of ours.": (
        "把模型改写成别的工具的文件，或把别的工具的模型改写成我们的。"
    ),
    "The source is known by its content, whatever its name. The new model gives the same labels and probabilities.": (
        "来源按内容辨认，与文件名无关。新模型给出同样的标签和概率。"
    ),
    "A model of Tagline, CRFsuite, CRF++, Wapiti or sklearn-crfsuite.": (
        "Tagline、CRFsuite、CRF++、Wapiti 或 sklearn-crfsuite 的模型。"
    ),
    "The file to write.": "要写出的文件。",
    "What to write: tagline, crfsuite, crfpp, crfpp-text or wapiti.": (
        "写成什么：tagline、crfsuite、crfpp、crfpp-text 或 wapiti。"
    ),
    "{}: {} labels, as a model of {}": "{}：{} 个标签，{} 的模型",
    # tagline export.
    "Write a network (bilstm, transformer) as ONNX, with a program that needs onnxruntime and NumPy alone.": (
        "把网络（bilstm、transformer）写成 ONNX，附一个只需要 onnxruntime 和 NumPy 的程序。"
    ),
    "The folder has model.onnx, labels.json, the vocabulary or tokenizer, and run.py, which reads a word a line and "
    "gives the tags that tagline tag gives. Where onnxruntime is installed, that is tried on a few sentences first.": (
        "目录里有 model.onnx、labels.json、词表或分词器，以及 run.py；它每行读一个词，给出与 tagline tag 相同的标签。"
        "装有 onnxruntime 时，先用几个句子试一试。"
    ),
    "A network that tagline train wrote.": "tagline train 写出的神经网络。",
    "The folder to write.": "要写出的目录。",
    "The version of ONNX's operators, 18 or newer; the exporter's own if left out.": (
        "ONNX 算子的版本，18 以上；省略时由导出程序决定。"
    ),
    "Write into a folder that has other files, too.": "目录里已有别的文件也照样写。",
    # tagline doctor, series, completion.
    "Look at versions, the compiled core, threads, the GPU, extras and the environment; say what is wrong.": (
        "检查版本、编译的核心、线程、GPU、可选的软件包和环境；指出哪里有问题。"
    ),
    "The exit code is 1 where something is. It belongs into reports of bugs.": (
        "有问题时退出码为 1。报告错误时请附上它的输出。"
    ),
    "Say which engine answers, on which instruction set and how many threads; doctor says more.": (
        "显示所用的引擎、指令集和线程数；doctor 显示得更多。"
    ),
    "Of two models: the settings, labels and facts that differ, and the weights that differ most.": (
        "给出两个模型时：显示不同的设置、标签和训练经过，以及差别最大的权重。"
    ),
    "Another model, to show what differs between the two.": "另一个模型，显示两者的差别。",
    "Features of each label, transitions, or differences, to show.": "显示多少个特征（每个标签）、转移或差别。",
    "Series: hmm without labels": "序列数据：没有标签的 hmm",
    "Learn so many hidden states of an HMM without labels; TRAIN is a series then, a .csv or .tsv file.": (
        "不用标签，学习 HMM 的这么多个隐状态；这时 TRAIN 是序列数据，.csv 或 .tsv 文件。"
    ),
    "Columns to learn from, by name, with commas between; all that have numbers if left out.": (
        "用哪些列，写列名，逗号分隔；省略时为所有数值列。"
    ),
    "The column that says which sequence a row belongs to.": "这一列说明每行属于哪个序列。",
    "What a state emits: gaussian, mixture (of Gaussians), poisson (counts), bernoulli, categorical (symbols) …; "
    "gaussian.": (
        "状态的发射分布：gaussian、mixture（混合高斯）、poisson（计数）、bernoulli、categorical（符号）……；"
        "默认 gaussian。"
    ),
    "Gaussians of each state, with --emission mixture.": "--emission mixture 时每个状态有几个高斯。",
    "Of Gaussians: spherical, diag, full or tied; diag.": "高斯的协方差：spherical、diag、full 或 tied；diag。",
    "Random starts, of which the best is kept; 1.": "随机开始几次，保留最好的；1。",
    "Of what is random.": "随机种子。",
    "Passes at most; no limit if left out, 100 of an HMM.": "最多训练几遍；省略时不限，HMM 为 100。",
    "Whether the model file says when it was trained; SOURCE_DATE_EPOCH sets the date.": (
        "模型文件是否写明训练时间；SOURCE_DATE_EPOCH 可指定时间。"
    ),
    "key=value to keep in the model file; may be given several times.": "写进模型文件的 键=值；可以给几次。",
    "Let bash, zsh or fish complete commands and options; left out: $SHELL.": (
        "让 bash、zsh 或 fish 自动补全命令和选项；省略时取 $SHELL。"
    ),
    "Print what --install-completion writes.": "显示 --install-completion 会写入的内容。",
    "completion works in shells that are started from now on": "此后启动的 shell 即可自动补全",
    "each tag emits words and follows a tag: counted in a second, one column; a baseline, or few data. With --states "
    "it learns hidden states of a series, a .csv file": (
        "标签发射词，标签接着标签：一秒内数完，只看一列；适合作基线，或数据很少时。加 --states 则学习序列数据"
        "（.csv 文件）的隐状态"
    ),
    # Checkpoints and logs of all models; tokenizers.
    "A file for the state of training, written between passes, and after each epoch of a network.": (
        "训练断点文件，在各遍之间写出；神经网络每遍结束后写出。"
    ),
    "Seconds between two checkpoints; 30 if left out, and of networks one an epoch. 0: after each pass.": (
        "两次断点之间的秒数；省略时为 30，神经网络为每遍一次。0 表示每遍之后。"
    ),
    "Add a line of JSON to this file after each pass.": "每遍结束后向此文件追加一行 JSON。",
    "With --ray: a folder on each worker's disk for compiled sentences; that of temporary files if left out.": (
        "与 --ray 合用：各工作进程本机磁盘上存放编译后句子的文件夹；省略时用临时文件夹。"
    ),
    "How text is cut; auto: as the tokens were that the model learned from.\n\nwhitespace: what stands between blanks: "
    "Anna's | cat, | 3.50\n\nwords: words and signs: Anna's | cat | , | 3.50 | U.S. | 北京\n\ncharacters: every "
    "character: 北 | 京 | 2 | 0 | 0 | 8\n\ntreebank: words as English treebanks have them: Anna | 's | do | n't | "
    "Dr.": (
        "文本如何切分；auto 与模型训练时一样。\n\nwhitespace：按空白：Anna's | cat, | 3.50\n\n"
        "words：词和符号：Anna's | cat | , | 3.50 | U.S. | 北京\n\ncharacters：逐字：北 | 京 | 2 | 0 | 0 | 8\n\n"
        "treebank：按英语树库的习惯：Anna | 's | do | n't | Dr."
    ),
}

SAID = {
    "wrote {} files to {}": "已将 {} 个文件写到 {}",
    "{} of {} files were tagged before and are kept": "{1} 个文件中有 {0} 个此前已标注，予以保留",
    "broken sentences that were skipped: {}; they are in {}, in files that end with {}": (
        "跳过 {} 个出错的句子；它们在 {} 中以 {} 结尾的文件里"
    ),
    "stopped; {} of {} files are tagged: the same command goes on with the others": (
        "已停止；{1} 个文件中已标注 {0} 个：用同一命令可接着做其余的"
    ),
    "{} of {} files, {} sentences a second, {} left": "{1} 个文件中已完成 {0} 个，每秒 {2} 句，还需 {3}",
    "trying {} settings of {}: {}": "试 {1} 的 {0} 组设置：{2}",
    "wrote {}; all trials are in {}": "已写出 {}；所有试验在 {} 中",
    "what the scores depend on: {}": "得分取决于：{}",
    "trials that failed: {}; the first, {}: {}": "失败的试验：{}；第一个，{}：{}",
    "no picture: {}": "没有画图：{}",
    "{} trainings are done, the best score is {}": "已完成 {} 次训练，最好得分 {}",
    "stopped; the same command goes on with the trials that are left": "已停止；用同一命令可接着做剩下的试验",
    "warning: {}": "警告：{:t}",
    "{}: read as {}; --encoding says otherwise": "{}：按 {} 读取；可用 --encoding 另行指定",
    "{}; --encoding says otherwise": "{:t}；可用 --encoding 另行指定",
    "skipped: {}": "已跳过：{:t}",
    "rule: {}": "规则：{:t}",
    "words, both ends right": "词的首尾都正确",
    "{}: {} distinct words": "{}：{} 个不同的词",
    "the tags are of no tag scheme and mark no spans: tokens are scored": "标签不属于任何体系，没有片段：按词元评测",
    "wrote {}": "已写入 {}",
    "wrote {}: {}": "已写入 {}：{}",
    "{}; it needs {}: pip install {}": "{:t}；它需要 {}：pip install {}",
    "run.py gives the tags of the model on a few sentences": "run.py 在几个句子上给出与模型相同的标签",
    "run.py was not tried": "没有试运行 run.py",
    "version  {}": "版本    {}",
    "engine   {}": "引擎    {}",
    "cpu      {} (this processor runs: {}; TAGLINE_CPU chooses)": "指令集  {}（本机支持：{}；由 TAGLINE_CPU 选择）",
    "threads  {} (TAGLINE_THREADS chooses)": "线程    {}（由 TAGLINE_THREADS 选择）",
    "-o names a file now; {} was taken as --as {}": "-o 现在指定文件；{} 已当作 --as {}",
    "skipped {} broken sentence{}": "跳过了 {} 个有错的句子",
    "skipped {} broken sentences": "跳过了 {} 个有错的句子",
    "skipped {} broken sentences; the first: {}": "跳过了 {} 个有错的句子；第一个：{:t}",
    "interrupted, nothing was saved: {} was not written{}": "已中断，没有保存：未写出 {}{}",
    "interrupted, nothing was saved: {} was not written": "已中断，没有保存：未写出 {}",
    "{}: no sentences": "{}：没有句子",
    "{}: read as columns, a token a line; say --format text where each line is a sentence": (
        "{}：按列读取，一行一个词元；如果一行是一句，请加 --format text"
    ),
    "{}: read as raw text, a sentence a line; say --format columns where each line is a token": (
        "{}：按生文本读取，一行一句；如果每行是一个词元，请加 --format columns"
    ),
    "tagging": "标注中",
    "left": "剩余",
    "{#} sentences": "{} 个句子",
    "{#} sentences, {#} a second": "{} 个句子，每秒 {} 个",
    # How training goes.
    "reading {}": "正在读取 {}",
    "saving {}": "正在保存 {}",
    "scoring": "正在评测",
    "counting": "正在计数",
    "learning": "正在学习",
    "left out {}, which has no numbers; --group or --columns can name it": (
        "略去 {}，它没有数值；可用 --group 或 --columns 指定"
    ),
    "training": "训练中",
    "numbering features": "正在给特征编号",
    "making the network": "正在建立网络",
    "compiling {}: {} tokens": "正在编译 {}：{} 个词元",
    "using {}, compiled before": "使用以前编译的 {}",
    "going on from {}": "从 {} 继续",
    "{} is not there yet: beginning anew": "{} 还不存在：从头开始",
    "dictionary of {} phrases, types {}": "词典：{} 个词语，类型 {}",
    "labels seen fewer than {} times, which are hardly learned: {}": "出现不到 {} 次、几乎学不到的标签：{}",
    "learning from {} sentences, {} tokens": "训练数据：{} 个句子，{} 个词元",
    "learning from {} sentences, {} tokens, of {} files": "训练数据：{} 个句子，{} 个词元，共 {} 个文件",
    "reading {} files": "读取 {} 个文件",
    "compiling on {} workers": "在 {} 个工作进程上编译",
    "joining features": "合并特征",
    "training in {} processes": "用 {} 个进程训练",
    "template {}": "模板 {}",
    "asking {}": "询问 {}",
    "and from {} sentences, {} tokens, of {} without tags": "另有 {2} 中无标签的 {0} 个句子，{1} 个词元",
    "template {}: {}; --template names another": "模板 {}：{:t}；可用 --template 另选",
    "network with {}: {}; --config sets others": "网络设置 {}：{:t}；可用 --config 另设",
    "looking at the column {} alone; --model crf looks at the others, too": (
        "只看 {} 这一列；--model crf 也看其他的列"
    ),
    "the tags mark no spans": "标签不标记片段",
    "the tags mark words without types": "标签标记的是没有类型的词",
    "the tags mark spans of words": "标签标记的是由词组成的片段",
    "the tags mark noun phrases, and there is a second column": "标签标记名词短语，并且有第二列",
    "most tokens are single characters that are not ASCII": "大多数词元是单个的非 ASCII 字符",
    "pass {#}": "第 {} 遍",
    "epoch {#}": "第 {} 遍",
    "epoch {#} of {#}": "第 {}/{} 遍",
    "objective {#}": "目标函数 {}",
    "within {} %": "距最优值不超过 {} %",
    "loss {#}": "损失 {}",
    "dev {#}": "开发集 {}",
    "{#} tokens/s": "每秒 {} 个词元",
    "about {} left": "约剩 {:t}",
    "{#} s": "{} 秒",
    "{#} min {#} s": "{} 分 {} 秒",
    "{#} h {#} min": "{} 小时 {} 分",
    "counted, {} in all": "已数完，共用 {:t}",
    "stopped after {} pass, {} in all: {}": "训练 {} 遍后停止，共用 {:t}：{:t}",
    "stopped after {} passes, {} in all: {}": "训练 {} 遍后停止，共用 {:t}：{:t}",
    "stopped after {} epoch, {} in all: {}": "训练 {} 遍后停止，共用 {:t}：{:t}",
    "stopped after {} epochs, {} in all: {}": "训练 {} 遍后停止，共用 {:t}：{:t}",
    "{}; pass {} is kept, dev {}": "{:t}；保留第 {} 遍，开发集 {}",
    "{}; epoch {} is kept, dev {}": "{:t}；保留第 {} 遍，开发集 {}",
    "converged": "已收敛",
    "converged: the objective is proven to be within {} % of its optimum": (
        "已收敛：已证明目标函数高出最优值不超过 {} %"
    ),
    "the dev score no longer rises": "开发集成绩不再上升",
    "--max-iterations is reached, before it had converged": "已到 --max-iterations，尚未收敛",
    "--max-seconds are over, before it had converged": "--max-seconds 已用完，尚未收敛",
    "interrupted while the dev set was scored; the model is saved without its scores": (
        "评测开发集时被中断；模型已保存，但没有分数"
    ),
    "interrupted; what was learned so far is kept": "被中断；已学到的内容保留",
    "all passes are made": "各遍都已完成",
    "all epochs are made": "各遍都已完成",
    "{} labels ({}), {} attributes, {} weights, {} of them not 0": (
        "{} 个标签（{}），{} 个属性，{} 个权重，其中 {} 个不为 0"
    ),
    "saved {} ({} MB)": "已保存 {}（{} MB）",
    "saved {}, its configuration": "已保存配置 {}",
    "accuracy {} of {} tokens": "正确率 {}，共 {} 个词元",
    "precision  recall      F1    gold": "   准确率  召回率      F1    总数",
    "next:": "接下来：",
    "  {}  tags a file": "  {}  标注一个文件",
    "  {}  shows what was learned": "  {}  查看学到了什么",
    "  {}  scores each pass and keeps the best": "  {}  每遍评测并保留最好的",
    "  {}  scores the model": "  {}  评测模型",
    # The demonstration.
    "A corpus that the package writes itself, English and Chinese in turn": "自动生成的语料，中英文交替",
    "Training on {} such sentences, {} tokens": "用 {} 个这样的句子训练，共 {} 个词元",
    "{}, {} passes, {} weights": "{:t}，{} 遍，{} 个权重",
    "features: the ready-made template {}; tags: {}": "特征：现成的模板 {}；标签：{}",
    "Scores on {} unseen sentences, all of whose names are unseen too": (
        "在 {} 个没见过的句子上评测，其中的名字也都没见过"
    ),
    "Two fresh sentences, each entity with its exact probability": "两个新句子，每个实体附精确概率",
    "Why is {} {} and not {}? What spoke for it (+) and against it (-)": (
        "{} 为什么是 {} 而不是 {}？支持的理由（+）和反对的理由（-）"
    ),
    "What to try next": "接下来可以试试",
    "tagline demo --keep FOLDER     leaves the corpus and the model there, to try the other commands on": (
        "tagline demo --keep FOLDER     把语料和模型留在那里，供试用其他命令"
    ),
    "tagline demo --serve           opens a page on this model in a browser": (
        "tagline demo --serve           在浏览器中打开这个模型的网页"
    ),
    "tagline serve -m MODEL         answers other programs by HTTP, with that page": (
        "tagline serve -m MODEL         以 HTTP 回答其他程序，带有那个网页"
    ),
    "tagline train --help           trains on your own sentences: a token and its tag a line": (
        "tagline train --help           用自己的句子训练：每行一个词元和它的标签"
    ),
    # What is in a corpus and in a model.
    "source     {}": "来源    {}",
    "sentences  {}": "句子    {}",
    "tokens     {} ({} distinct)": "词元    {}（不同的 {}）",
    "columns    {}": "列      {}",
    "length     {} on average, longest {} ({})": "长度    平均 {}，最长 {}（{}）",
    "scheme     {}: {}": "体系    {}：{:t}",
    "the letters are {}, and no sentence breaks the rules of {}": "字母为 {}，没有句子违反 {} 的规则",
    "the letters are {}, and no sentence breaks the rules of {}; ambiguous: {} would fit as well, the strictest is "
    "taken": "字母为 {}，没有句子违反 {} 的规则；{} 也同样符合，取最严格的",
    "labels     {}": "标签    {}",
    "seldom     fewer than {} times: {}": "少见    不到 {} 次：{}",
    "entities   {}": "实体    {}",
    "words      {}, {} characters on average": "词      {}，平均 {} 个字",
    "labels      {}: {}": "标签    {}：{}",
    "scheme      {}": "体系    {}",
    "features    {}": "特征    {}",
    "attributes  {}": "属性    {}",
    "weights     {} ({}), {} of them not 0, the largest {}": "权重    {}（{}），其中 {} 个不为 0，最大 {}",
    "sentences   {}": "句子    {}",
    "passes      {}": "遍数    {}",
    "objective   {}": "目标    {}",
    "reason      {}": "停因    {:t}",
    "patience": "开发集成绩不再上升",
    "version     {}": "版本    {}",
    "speaks for {}": "支持 {} 的特征",
    "probable words of {}": "{} 的常见词",
    "transitions most liked": "最受欢迎的转移",
    "transitions least liked": "最不受欢迎的转移",
    "transitions probable": "常见的转移",
    "transitions improbable": "罕见的转移",
    "{} words; found: {}; correct: {}; precision: {}%; recall: {}%; F1: {}": (
        "{} 个词；找到：{}；正确：{}；准确率：{}%；召回率：{}%；F1：{}"
    ),
    "recall of {} words that are not in the training text: {}%; of {} that are: {}%": (
        "{} 个未登录词的召回率：{}%；{} 个登录词的召回率：{}%"
    ),
}

ERRORS = {
    # The command line itself.
    "Missing option {}.": "缺少选项 {}。",
    "Missing argument {}.": "缺少参数 {}。",
    "Missing command.": "缺少命令。",
    "No such option '{}'.": "没有这个选项：{}",
    "No such option '{}'. Did you mean {}?": "没有这个选项：{}；是不是 {}？",
    "No such option '{}'. (Did you mean one of: {}?)": "没有这个选项：{}；是不是 {} 之一？",
    "No such option: {}": "没有这个选项：{}",  # click before 8.5
    "No such option: {} Did you mean {}?": "没有这个选项：{}；是不是 {}？",
    "No such option: {} (Possible options: {})": "没有这个选项：{}；是不是 {} 之一？",
    "No such command '{}'.": "没有这个命令：{}",
    "No such command '{}'. Did you mean {}?": "没有这个命令：{}；是不是 {}？",
    "Option '{}' requires an argument.": "选项 {} 需要一个值。",
    "Option '{}' does not take a value.": "选项 {} 不带值。",
    "Got unexpected extra argument ({})": "多余的参数（{}）",
    "Got unexpected extra arguments ({})": "多余的参数（{}）",
    "Invalid value for {}: {} is not a valid integer.": "{} 的值 {} 不是整数。",
    "Invalid value for {}: {} is not a valid float.": "{} 的值 {} 不是数。",
    "Invalid value for {}: {} is not in the range {}.": "{} 的值 {} 不在范围 {} 内。",
    "give it behind the option": "请写在选项后面",
    "this needs the package {}; install it with: {}": "这需要软件包 {}；安装命令：{}",
    "{}: {} is also read, as {}; name another file to write": "{0}：{1} 也是要读取的文件（{2}）；请另写一个文件名",
    "{}: {} is also written, as {}; name another file to write": "{0}：{1} 也由 {2} 写入；请另写一个文件名",
    "{}: {} is a folder, not a file; name a file in it": "{}：{} 是目录，不是文件；请写出目录中的文件名",
    "{}: there is no folder {}; make it first": "{}：没有目录 {}；请先建立",
    "{}: {} is not a folder; choose another place": "{}：{} 不是目录；请另选位置",
    "{}: {} cannot be written: {}; {}": "{}：无法写入 {}：{}；{:t}",
    "--keep: {} cannot be a folder: {}; name another place": "--keep：{} 不能作为目录：{}；请另选位置",
    "{}: this looks like text, a sentence a line; name a file with a token and its tags a line": (
        "{}：这像是文本（一行一句）；请给出一行一个词元及其标签的文件"
    ),
    "standard output: cannot be written: {}; {}": "标准输出：无法写入：{}；{:t}",
    "{}: the last column has tags, but the one before it does not have such tags: there are no predictions to score; "
    "name a second file with them, or tag this one first: tagline tag -m MODEL FILE | tagline eval -": (
        "{}：最后一列是标签，但前一列不是同类标签，没有可评测的预测；请给出带预测的第二个文件，或先标注："
        "tagline tag -m MODEL FILE | tagline eval -"
    ),
    "{}: comma-separated values are not read as sentences: write a token a line, its columns with tabs between them "
    "and a blank line behind each sentence; or name the format, --format columns, if it is that": (
        "{}：逗号分隔的表格不能按句子读取：请一行写一个词元，列之间用制表符，句子之间空一行；"
        "若确是列格式，请加 --format columns"
    ),
    # Parts of errors, which are "place: expected …, got …; what to do".
    "one of {}": "{} 之一",
    "a file": "文件",
    "a file to write": "要写的文件",
    "a file of its own": "另一个文件",
    "a readable file": "可读的文件",
    "a folder": "目录",
    "an existing folder to write into": "已存在的目录",
    "a place to write to": "可以写入的地方",
    "none": "没有",
    "none of that name": "没有这个文件",
    "one without permission": "没有权限的文件",
    "something else ({})": "别的内容（{}）",
    "sentences": "句子",
    "none that can be used": "没有可用的句子",
    "an empty file": "空文件",
    "UTF-8": "UTF-8",
    "byte {} at byte {} of the line": "该行第 {1} 个字节 {0}",
    "{} columns": "{} 列",
    "{} columns or more": "至少 {} 列",
    "gold and predicted labels in the last two columns": "最后两列为正确标签和预测标签",
    "one column": "只有一列",
    "two tags or more to learn": "至少两种标签",
    "{} at all {} tokens": "{1} 个词元全是 {0}",
    "tags that come back": "重复出现的标签",
    "{} different ones at {} tokens, such as {}": "{1} 个词元有 {0} 种，例如 {2}",
    "tags to learn": "要学习的标签",
    "sentences with tags": "带标签的句子",
    "raw text": "生文本",
    "a token a line": "一行一个词元",
    "{}, which may be text": "{}，可能是文本",
    "a second file with the words that were found": "第二个文件，即分词结果",
    "one": "一个",
    "both": "两个都有",
    "one of them": "其中一个",
    "a number": "数",
    "a whole number": "整数",
    "a whole number, {} to {}": "{} 到 {} 的整数",
    "a number, {} or more": "不小于 {} 的数",
    "a number, {} to {}": "{} 到 {} 的数",
    "a number from 0 to 1": "0 到 1 的数",
    "0 or more": "不小于 0 的数",
    "a model that can explain its tags": "能解释标签的模型",
    "check the path": "请检查路径",
    "name a file in it": "请写出目录中的文件名",
    "name a file": "请写出文件名",
    "name both": "请给出两个文件",
    "make {} first": "请先建立 {}",
    "make room there or choose another place": "请腾出空间或另选位置",
    "make room there or ask for a larger quota": "请腾出空间或申请更大的配额",
    "raise the limit of file sizes (ulimit -f) or choose another place": "请提高文件大小的上限（ulimit -f）或另选位置",
    "choose another place": "请另选位置",
    "choose another place or see who may write there": "请另选位置，或查看谁可以写入",
    "see whether the disk is sound": "请检查磁盘是否完好",
    "choose another": "请另选",
    "there is no such file": "没有这个文件",
    "use --as jsonl": "请用 --as jsonl",
    "use columns or JSON lines": "请用列文件或 JSON 行",
    "mend the text": "请修正文本",
    "the file is damaged": "文件已损坏",
    "fit a new model": "请训练新的模型",
    "name the right encoding": "请指定正确的编码",
    "name the right encoding, such as --encoding gb18030": "请指定正确的编码，例如 --encoding gb18030",
    "name the column of the tags with --tag-column, counted from 0": "请用 --tag-column 指定标签列，从 0 数起",
    "say --format text (a sentence a line) or --format columns (a token a line)": (
        "请加 --format text（一行一句）或 --format columns（一行一个词元）"
    ),
    "the model looks at {} columns of each token: say --format columns if these are such": (
        "模型读取每个词元的 {} 列：若确是如此，请加 --format columns"
    ),
    "this looks like segmented text, a sentence a line with blanks between words: say --format words": (
        "这像是分好词的文本（一行一句，词间空格）：请加 --format words"
    ),
    "this looks like text, a sentence a line, not like a token and its tag on each line": (
        "这像是文本（一行一句），而不是每行一个词元和它的标签"
    ),
}

TEXTS = {**HELP, **SAID, **ERRORS}
