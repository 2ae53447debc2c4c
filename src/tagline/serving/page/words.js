// The texts of the page in two languages. A test compares the two lists.

export const WORDS = {
  en: {
    views: "Views", try: "Try", trellis: "Trellis", model: "Model", compare: "Compare", modelName: "Model",
    textLabel: "Text", tryTitle: "What the model reads", tokens: "Tokens", copyAs: "Copy as",
    tryHint: "Click a token, or move with the arrow keys, to see how sure the model is and to fix its label.",
    trellisTitle: "All labellings of one sentence", modelTitle: "What the model has learned",
    transitions: "Transitions", features: "Strongest features", label: "Label", search: "Search",
    compareTitle: "Two models on the same text", other: "Other model", tokenTitle: "This service asks for a token",
    tokenLabel: "Token", tokenSend: "Go on", light: "Light", dark: "Dark", theme: "Dark",
    gone: "The service does not answer. The page tries again by itself.", back: "",
    empty: "No text yet.", nothing: "Choose a token to see more.", probability: "probability",
    distribution: "How likely each label is here; click one to fix it", free: "Free this label",
    fixed: "fixed", freeAll: "Free all labels", rivals: "Other readings of the sentence", why: "Why, against",
    more: "more", copied: "Copied.", notCopied: "Copying is not allowed here; the text is below.",
    best: "Best readings", sentence: "Sentence", show: "Show", marginals: "probabilities", forward: "forward sums",
    backward: "backward sums", viterbi: "Viterbi maxima", step: "Step", play: "Play", stop: "Stop", larger: "Larger",
    smaller: "Smaller", chooseCell: "Click a cell to see how it is computed.", from: "from", allLabels: "all labels",
    noTrellis: "This model has no table of tokens and labels.", noTransitions: "They depend on the words, or the model has none.",
    noFeatures: "None.", agree: "Both models give all tokens the same label.", differ: "tokens have another label",
    onlyOne: "There is one model only; start the service with -m twice.", kind: "kind", labels: "labels", scheme: "tag scheme",
    trained: "training", weight: "weight", feature: "feature", dev: "scores on the dev set", loaded: "loaded",
    sum: "log of the sum of exp", max: "the largest of", emission: "emission", end: "end", start: "start",
    busy: "The service is busy; trying again.", entity: "Entity", tooLong: "The sentence is too long for this view.",
    types: "Scores by type, on the dev set", type: "type", precision: "precision", recall: "recall", f1: "F1", gold: "in the dev set",
  },
  zh: {
    views: "视图", try: "试用", trellis: "网格", model: "模型", compare: "比较", modelName: "模型",
    textLabel: "文本", tryTitle: "模型读到了什么", tokens: "词元", copyAs: "复制为",
    tryHint: "点击一个词元，或用方向键移动，可以看到模型有多大把握，并固定它的标签。",
    trellisTitle: "一个句子的所有标注", modelTitle: "模型学到了什么",
    transitions: "转移", features: "最强的特征", label: "标签", search: "查找",
    compareTitle: "两个模型，同一段文本", other: "另一个模型", tokenTitle: "此服务需要令牌",
    tokenLabel: "令牌", tokenSend: "继续", light: "浅色", dark: "深色", theme: "深色",
    gone: "服务没有应答，页面会自动重试。", back: "",
    empty: "还没有文本。", nothing: "选择一个词元以查看详情。", probability: "概率",
    distribution: "各标签在此处的概率；点击即可固定", free: "解除此标签",
    fixed: "已固定", freeAll: "解除全部标签", rivals: "这个句子的其他读法", why: "理由，相对于",
    more: "其余", copied: "已复制。", notCopied: "这里不允许复制，文本在下面。",
    best: "最佳读法数", sentence: "句子", show: "显示", marginals: "概率", forward: "前向和",
    backward: "后向和", viterbi: "维特比最大值", step: "步", play: "播放", stop: "停止", larger: "放大",
    smaller: "缩小", chooseCell: "点击一个格子，看它是怎样算出来的。", from: "来自", allLabels: "全部标签",
    noTrellis: "这个模型没有词元与标签的表。", noTransitions: "转移取决于词，或模型没有转移。",
    noFeatures: "没有。", agree: "两个模型给所有词元相同的标签。", differ: "个词元的标签不同",
    onlyOne: "只有一个模型；启动服务时请给出两个 -m。", kind: "种类", labels: "标签", scheme: "标签体系",
    trained: "训练", weight: "权重", feature: "特征", dev: "开发集得分", loaded: "载入时间",
    sum: "指数之和的对数", max: "取最大者", emission: "发射分", end: "结束", start: "开始",
    busy: "服务正忙，正在重试。", entity: "实体", tooLong: "句子太长，无法在此显示。",
    types: "开发集上各类型的得分", type: "类型", precision: "精确率", recall: "召回率", f1: "F1", gold: "开发集中的个数",
  },
};

let language = "en";

export function useLanguage(name) {
  language = name in WORDS ? name : "en";
  document.documentElement.lang = language;
  for (const part of document.querySelectorAll("[data-text]")) part.textContent = say(part.dataset.text);
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", say(part.dataset.label));
}

export const currentLanguage = () => language;
export const say = (name) => WORDS[language][name];
