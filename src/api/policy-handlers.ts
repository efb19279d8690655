import { reasonTitle } from '../contract/reason-titles.ts';
import { POLICY_DIFFERENCES_MAX } from '../kernel/limits.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import {
  type Difference,
  differences,
  eachRule,
  type PolicyView,
  type RuleSettings,
  type RuleView,
} from '../risk/policy/policy-view.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { AnswerPieces } from './kit/response-pieces.ts';
import type { OwnPolicies } from './own-policies.ts';
import { showBands } from './show-decision.ts';

/** Dependencies of the endpoints about the policy. Source: contract, 9.8. */
export interface PolicyParts {
  readonly policies: Pick<OwnPolicies, 'present' | 'all'>;
  /** Returns whether the present policy file is faulty, so that an older one applies. */
  readonly isRefused: () => boolean;
}

type Fields = Readonly<Record<string, unknown>>;

export function policyHandlers(
  endpoint: EndpointFactory,
  { policies, isRefused }: PolicyParts,
): SecretHandlers<'readPolicy' | 'listPolicyHistory'> {
  const readPolicy: EndpointHandler = async ({ caller, slices }) => {
    const { atMs, isFile, view } = policies.present(caller.customer);
    const common = view.policyOf('');
    const challenger = view.challenger();
    const body = {
      version: view.version,
      source: isFile ? 'file' : 'default',
      loaded_at: Math.floor(atMs / 1000),
      is_refused: isRefused(),
      mode: common.mode,
      bands: showBands(common.bands),
      event_types: view.eventTypes.map((eventType) => {
        const { mode, bands } = view.policyOf(eventType);
        return { event_type: eventType, mode, bands: showBands(bands) };
      }),
      grant: common.grant,
      sample_rate: common.sampleRate,
      log_identities: common.logIdentities,
      log_requests_days: common.logRequestsDays,
      retention: Object.fromEntries(Object.entries(view.retention).map(([name, ms]) => [name, ms / 1_000])),
    };
    const pieces = new AnswerPieces(slices);
    await pieces.add(`${JSON.stringify(body).slice(0, -1)},"rules":[`);
    let isFirst = true;
    for (const rule of eachRule(view)) {
      await pieces.add(`${isFirst ? '' : ','}${JSON.stringify(showRule(rule))}`);
      isFirst = false;
    }
    const other =
      challenger === null
        ? null
        : { version: challenger.version, ...(await showDifferences(view, challenger, slices)) };
    await pieces.add(`],"challenger":${JSON.stringify(other)}}`);
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  const listHistory: EndpointHandler = async ({ caller, slices }) => {
    const all = policies.all(caller.customer);
    const pieces = new AnswerPieces(slices);
    await pieces.add('{"data":[');
    for (const [at, { atMs, isFile, view }] of all.entries()) {
      const before = all[at + 1]?.view ?? null;
      const isComparable = view !== null && before !== null;
      const shown = {
        at: Math.floor(atMs / 1000),
        version: view?.version ?? 'unknown',
        source: isFile ? 'file' : 'default',
        ...(isComparable ? await showDifferences(before, view, slices) : { differences: null, is_truncated: false }),
      };
      await pieces.add(`${at === 0 ? '' : ','}${JSON.stringify(shown)}`);
    }
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  return { readPolicy: endpoint({}, readPolicy), listPolicyHistory: endpoint({}, listHistory) };
}

async function showDifferences(before: PolicyView, after: PolicyView, slices: Slices): Promise<Fields> {
  const pause = async (): Promise<void> => {
    if (slices.isOver) await slices.begin();
  };
  const found = await differences(before, after, POLICY_DIFFERENCES_MAX, pause);
  return { differences: found.differences.map(showDifference), is_truncated: found.isTruncated };
}

function showDifference({ eventType, kind, name, before, after }: Difference): Fields {
  return { event_type: eventType, kind, name, before, after };
}

function showRule(rule: RuleView): Fields {
  return {
    reason: rule.reason,
    title: reasonTitle(rule.reason),
    family: rule.family,
    ...showSettings(rule),
    is_changed: rule.isChanged,
    event_types: rule.eventTypes.map((one) => ({ event_type: one.eventType, ...showSettings(one) })),
    sentence: rule.sentence,
    what_quiets_it: rule.quietedBy,
  };
}

function showSettings({ enabled, weight, levels, thresholds }: RuleSettings): Fields {
  return { enabled, weight, levels, thresholds };
}
