import { newId } from '../../src/kernel/ids.ts';
import { evaluateRules, tuneRules } from '../../src/risk/evaluate.ts';
import { fuse, type Verdict } from '../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../src/risk/policy/policy.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { DECISION_HEAD, decisionTail, DecisionTails } from '../../src/score/response-text.ts';
import { calmFacts, hostileFacts, NOW_SECONDS } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

export const answerText: Stage = {
  name: 'answer text',
  add(tasks) {
    const ids = Ring.of(256, () => newId('req', NOW_SECONDS * 1000));
    // V8 flattens a concatenated string only when it is read, so both variants write it to a buffer as the worker does.
    const out = Buffer.alloc(4_096);
    for (const [name, facts] of [
      ['calm', calmFacts()],
      ['hostile', hostileFacts()],
    ] as const) {
      const evaluated = evaluateRules(tuneRules(RULES, DEFAULT_POLICY), facts, DEFAULT_POLICY);
      const verdict = fuse(evaluated.contributions, facts, DEFAULT_POLICY);
      const tails = new DecisionTails();
      const isSane = (bytes: number): boolean => isAnswer(`${out.latin1Slice(0, bytes)}3}`, verdict);
      tasks.add(`${name}, serialised`, {
        perSample: 256,
        run: (n) => out.latin1Write(DECISION_HEAD + ids.at(n) + decisionTail(verdict, 'full', false), 0),
        isSane,
      });
      tasks.add(`${name}, cached`, {
        perSample: 256,
        run: (n) => {
          let bytes = out.latin1Write(DECISION_HEAD, 0);
          bytes += out.latin1Write(ids.at(n), bytes);
          return bytes + out.latin1Write(tails.get(verdict, evaluated, 'full', false), bytes);
        },
        isSane,
      });
      tasks.add(`${name}, JSON.stringify`, {
        perSample: 256,
        run: (n) => out.latin1Write(withoutEnd(stringified(ids.at(n), verdict)), 0),
        isSane,
      });
    }
    return {};
  },
};

function stringified(requestId: string, { decision, score, reasons, reviewHint }: Verdict): string {
  return JSON.stringify({
    request_id: requestId,
    decision,
    score,
    reasons,
    review_hint: reviewHint,
    session_mode: 'full',
    shadow_routed: false,
    latency_ms: 3,
  });
}

function withoutEnd(text: string): string {
  return text.slice(0, -2);
}

function isAnswer(text: string, { decision, score }: Verdict): boolean {
  const answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return (
    answer['decision'] === decision &&
    answer['score'] === score &&
    answer['latency_ms'] === 3 &&
    String(answer['request_id']).startsWith('req_')
  );
}
