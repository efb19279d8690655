import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FactRow, OwnRuleBody, OwnRuleRow } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Button } from '../../components/fields.tsx';
import { Pane } from '../../components/pane.tsx';
import { Time } from '../../components/time.tsx';
import { FaultView, Skeleton } from '../../components/state-view.tsx';
import { toast } from '../../components/toast.tsx';
import { countOf } from '../../format.ts';
import { isReadOnly } from '../../session.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import { BacktestPart } from './backtest-part.tsx';
import { OwnRuleEditor } from './own-rule-editor.tsx';
import {
  conditionOf,
  NEW_RULE,
  type OwnRuleForm,
  rulesToTry,
  shareWords,
  toBody,
  toForm,
  tripWords,
  typesOfForm,
  enforceAgainWords,
  whyNotReady,
} from './own-rule-form.ts';
import { RuleActions } from './rule-actions.tsx';
import { useConditionCheck } from './use-condition-check.ts';
import { useProof } from './use-proof.ts';
import { type LoadedRule, useOwnRule } from './use-own-rule.ts';

interface PaneProps {
  /** Null for a new rule. */
  readonly code: string | null;
  readonly counts: OwnRuleRow | undefined;
  /** Every rule of the customer. */
  readonly rules: readonly OwnRuleRow[];
  readonly facts: readonly FactRow[];
  /** Days for which requests are kept for backtests; undefined while that is not known. */
  readonly logDays: number | undefined;
  readonly closeHref: string;
  /** Called after each write, with the code of the rule; null after it was deleted. */
  readonly onChanged: (code: string | null) => void;
}

/** One rule of the customer's own: write it, observe it, enforce it, take it back. */
export function OwnRulePane(props: PaneProps): JSX.Element {
  const { code, closeHref } = props;
  const loaded = useOwnRule(code);
  return (
    <Pane title={code === null ? 'New rule' : visibleText(code)} closeHref={closeHref}>
      {loaded.kind === 'loading' && <Skeleton form="text" />}
      {loaded.kind === 'fault' && <FaultView fault={loaded.fault} retry={loaded.reload} />}
      {loaded.kind === 'new' && <LoadedPane {...props} loaded={null} reload={loaded.reload} />}
      {loaded.kind === 'loaded' && (
        <LoadedPane key={loaded.rule.etag} {...props} loaded={loaded.rule} reload={loaded.reload} />
      )}
    </Pane>
  );
}

function LoadedPane({
  counts,
  rules,
  facts,
  logDays,
  loaded,
  reload,
  onChanged,
}: PaneProps & { readonly loaded: LoadedRule | null; readonly reload: () => void }): JSX.Element {
  const link = useLink();
  const [form, setForm] = useState<OwnRuleForm>(loaded === null ? NEW_RULE : toForm(loaded.rule));
  const [isBusy, setBusy] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const rule = loaded?.rule ?? null;
  const path = v1(`/rules/${encodeURIComponent(rule?.code ?? form.code)}`);
  const headers: Record<string, string> = loaded === null ? {} : { 'If-Match': loaded.etag };
  const isWritable = !isReadOnly() && rule?.source !== 'policy' && rule?.shadowed !== true;
  const isUnchanged = rule !== null && JSON.stringify(toForm(rule)) === JSON.stringify(form);
  const proof = useProof(form);
  const check = useConditionCheck(form.when, typesOfForm(form));
  const notReady = whyNotReady(form, check);
  const save = async (mode: OwnRuleBody['mode'], done: string): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const predicted = mode === 'enforce' && proof.touched !== null ? { predicted: proof.touched } : {};
      const written = await send<OwnRuleBody>('PUT', path, { ...toBody(form, mode), ...predicted }, { headers });
      toast(mode === 'enforce' && written.predicted === null ? `${done}, without a circuit breaker` : done);
      onChanged(form.code);
      if (loaded !== null) reload();
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      {rule?.source === 'policy' && <p class="muted">It is in the policy file, which only the operator changes.</p>}
      {rule?.shadowed === true && (
        <p class="notice">The policy file has a rule with this code, which counts instead.</p>
      )}
      {rule !== null && <TripNotice rule={rule} />}
      <OwnRuleEditor
        form={form}
        onForm={setForm}
        isNew={rule === null}
        isWritable={isWritable}
        facts={facts}
        check={check}
      />
      {isWritable && (
        <BacktestPart
          code={form.code}
          rules={rulesToTry(form, rules)}
          notReady={notReady}
          logDays={logDays}
          proof={proof}
        />
      )}
      {rule !== null && <Effect rule={rule} counts={counts} />}
      {rule !== null && (
        <p>
          <a href={link('/dashboard/decisions', { q: `reason:${rule.code}`, range: '24h' })}>
            Decisions with this reason
          </a>
        </p>
      )}
      {fault !== null && <FaultView fault={fault} />}
      {fault?.code === 'precondition_failed' && (
        <div>
          <Button onClick={reload}>Read the rule again</Button>
        </div>
      )}
      {isWritable && (
        <RuleActions
          mode={rule?.mode ?? null}
          notReady={notReady}
          isUnchanged={isUnchanged}
          isBusy={isBusy}
          hasProof={
            proof.touched !== null || (rule?.mode === 'observe' && conditionOf(toForm(rule)) === conditionOf(form))
          }
          isTried={proof.isRunning}
          canPredict={isUnchanged && rule?.mode === 'enforce' && rule.predicted === null && proof.touched !== null}
          onSave={(mode, done) => void save(mode, done)}
          onDelete={() => setDeleting(true)}
        />
      )}
      {rule?.shadowed === true && !isReadOnly() && (
        <div>
          <Button kind="danger" disabled={isBusy} onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </div>
      )}
      {isDeleting && rule !== null && (
        <Confirm
          title="Delete the rule"
          confirm="Delete"
          danger
          onConfirm={async () => {
            await send('DELETE', path, undefined, { headers });
            toast('The rule is deleted');
            onChanged(null);
          }}
          onClose={() => setDeleting(false)}
        >
          <p class="text">
            <bdi>{visibleText(rule.code)}</bdi> has no effect on the next decision. Decisions keep it as their reason,
            and the audit log keeps its condition.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function TripNotice({ rule }: { readonly rule: OwnRuleBody }): JSX.Element | null {
  if (rule.tripped_at === null) return null;
  return (
    <p class="notice" role="alert">
      The circuit breaker set it back to observe <Time at={rule.tripped_at} />: {tripWords(rule)}{' '}
      {enforceAgainWords(rule)}
    </p>
  );
}

function Effect({
  rule,
  counts,
}: {
  readonly rule: OwnRuleBody;
  readonly counts: OwnRuleRow | undefined;
}): JSX.Element {
  const people = counts === undefined ? '' : `, ${countOf(counts.people_24h, 'person', 'people')}`;
  return (
    <section aria-label="What it did in 24 hours">
      <h3>What it did in 24 hours</h3>
      {rule.errors.length > 0 && (
        <p class="notice" role="alert">
          It does not run: {rule.errors.map(({ message }) => visibleText(message)).join(' ')}
        </p>
      )}
      <p>
        {counts === undefined
          ? 'Not counted yet.'
          : `Fired on ${countOf(counts.fired_24h, 'decision')}, observed on ${countOf(counts.observed_24h, 'decision')}${people}.`}
      </p>
      {rule.mode === 'enforce' && (
        <p class="muted small">
          {rule.predicted === null
            ? 'No circuit breaker watches it: it was enforced without a prediction.'
            : `Predicted: ${shareWords(rule.predicted)}. The circuit breaker sets it back to observe if it fires on far more.`}
        </p>
      )}
    </section>
  );
}
