/** What a customer says that a decision was. Source: open points, section 2. */
export const LABELS = ['fraud', 'legitimate'] as const;
export type Label = (typeof LABELS)[number];

/** What a reviewer of the shadow queue says. Source: open points, section 2. */
export const VERDICTS = ['fraud', 'legitimate', 'unsure'] as const;
export type ReviewVerdict = (typeof VERDICTS)[number];
