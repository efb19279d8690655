/** Sentences for pages of the reading set. All of them were written for it. */

const SUBJECTS = [
  'The harbour office',
  'A group of beekeepers',
  'The night train crew',
  'Our village library',
  'The repair workshop',
  'A team of surveyors',
  'The lighthouse keeper',
  'The bakery on the corner',
  'A retired teacher',
  'The orchard committee',
  'The mountain railway',
  'A pair of carpenters',
];
const DEEDS = [
  'replaced the old timbers',
  'counted every visitor by hand',
  'published a plan for the winter',
  'tested three kinds of glue',
  'moved the archive to a dry cellar',
  'painted the doors in a lighter green',
  'measured the depth of the channel',
  'borrowed a crane from the quarry',
  'planted forty rows of young pears',
  'wrote to the council about the bridge',
];
const PLACES = [
  'beside the northern quay',
  'in the hall behind the station',
  'on the slope above the river',
  'near the second lock',
  'under the roof of the market',
  'at the edge of the marsh',
  'along the lane to the mill',
];
const REASONS = [
  'because the spring tides had been higher than expected',
  'so that children could reach the shelves without a ladder',
  'although nobody had asked for it before the summer',
  'while the ferry waited for calmer weather',
  'after a long argument about the cost of copper',
  'since the former supplier had closed its doors',
  'before the first snow made the road impassable',
  'and the neighbours brought soup and dry gloves',
  'which surprised even those who had drawn the plans',
];

/** Returns texts that differ from call to call and are the same in every run. */
export class Writer {
  #at: number;

  constructor(seed: number) {
    this.#at = seed * 7_919;
  }

  #pick(list: readonly string[]): string {
    this.#at = (this.#at * 1_103_515_245 + 12_345) % 2_147_483_648;
    return list[(this.#at >>> 8) % list.length] ?? '';
  }

  sentence(): string {
    return `${this.#pick(SUBJECTS)} ${this.#pick(DEEDS)} ${this.#pick(PLACES)} ${this.#pick(REASONS)}.`;
  }

  paragraph(sentences = 3): string {
    return Array.from({ length: sentences }, () => this.sentence()).join(' ');
  }

  heading(): string {
    return `${this.#pick(SUBJECTS)} ${this.#pick(DEEDS)}`;
  }

  name(): string {
    return `${this.#pick(['Ada', 'Ben', 'Cleo', 'Dario', 'Edda', 'Femi'])} ${this.#pick(['Quist', 'Ruiz', 'Moor', 'Falk', 'Osei'])}`;
  }
}
