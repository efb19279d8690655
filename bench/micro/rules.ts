import { evaluateRules, tuneRules } from '../../src/risk/evaluate.ts';
import { DEFAULT_POLICY } from '../../src/risk/policy/policy.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { journeyProbeUrl } from '../../src/risk/rules/journey_probe_url.ts';
import { calmFacts, hostileFacts } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

/** The same number and kind of texts as in the probe rule. */
const STAND_INS = Array.from({ length: 41 }, (_, n) => `/probe${n}/etc/passwd`);
const ANY_STAND_IN = new RegExp(STAND_INS.map((text) => text.replaceAll('/', '\\/')).join('|'));

export const rules: Stage = {
  name: 'rules',
  add(tasks) {
    const tuned = tuneRules(RULES, DEFAULT_POLICY);
    const calm = calmFacts();
    const hostile = hostileFacts();
    tasks.add('calm', {
      perSample: 256,
      run: () => evaluateRules(tuned, calm, DEFAULT_POLICY),
      isSane: ({ contributions }) => contributions.length === 0,
    });
    tasks.add('hostile', {
      perSample: 256,
      run: () => evaluateRules(tuned, hostile, DEFAULT_POLICY),
      isSane: ({ contributions }) => contributions.length >= 5,
    });
    tasks.add('journey_probe_url, calm', {
      perSample: 256,
      run: () => journeyProbeUrl.evaluate(calm, DEFAULT_POLICY, {}),
      isSane: (hit) => hit === null,
    });
    const urls = Ring.of(64, (n) => `https://shop.example/search?step=${n}&sort=price&page=2`);
    tasks.add('41 texts in one pattern', {
      perSample: 256,
      run: (n) => ANY_STAND_IN.test(urls.at(n)),
      isSane: (found) => !found,
    });
    tasks.add('41 texts, one test each', {
      perSample: 256,
      run(n) {
        const url = urls.at(n);
        return STAND_INS.some((text) => url.includes(text));
      },
      isSane: (found) => !found,
    });
    return {};
  },
};
