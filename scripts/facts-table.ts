import { DECISION_FACTS } from '../src/risk/conditions/decision-facts.ts';
import { ENTITY_FACTS } from '../src/risk/conditions/history-facts.ts';

/** Returns a Markdown page with the table of facts between its marks. */
export function withFacts(page: string): string {
  const rows = [...DECISION_FACTS, ...ENTITY_FACTS].map(({ name, type, unit, meaning, absentWhen }) => {
    const text = unit === undefined ? meaning : `${meaning}; ${unit}`;
    return `| \`${name}\` | ${type} | ${text} | ${absentWhen} |`;
  });
  const attributes =
    '| `attributes.<name>` | as declared | an attribute of the request | the request does not have it, or with another type |';
  const counters =
    '| `counters.<name>` | number | a [counter of your own](#counters-of-your-own), the present event included | ' +
    'the request does not have whom it is about, or the history is unavailable |';
  const table = [
    '| Fact | Type | Meaning | Absent when |',
    '| --- | --- | --- | --- |',
    ...rows,
    attributes,
    counters,
  ].join('\n');
  return page.replace(/<!-- facts -->[\s\S]*<!-- \/facts -->/, `<!-- facts -->\n\n${table}\n\n<!-- /facts -->`);
}
