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
import { OwnRuleEditor } from './own-rule-editor.tsx';
import { isComplete, NEW_RULE, type OwnRuleForm, toBody, toForm, tripWords } from './own-rule-form.ts';
import { type LoadedRule, useOwnRule } from './use-own-rule.ts';

interface PaneProps {
  /** Null for a new rule. */
  readonly code: string | null;
  readonly counts: OwnRuleRow | undefined;
  readonly facts: readonly FactRow[];
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
  facts,
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
  const save = async (mode: OwnRuleBody['mode'], done: string): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await send('PUT', path, toBody(form, mode), { headers });
      toast(done);
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
      <OwnRuleEditor form={form} onForm={setForm} isNew={rule === null} isWritable={isWritable} facts={facts} />
      {/* The place of a backtest of this rule: after its condition, before its mode. */}
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
          isReady={isComplete(form) && !isBusy}
          isUnchanged={isUnchanged}
          isBusy={isBusy}
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
      The circuit breaker set it back to observe <Time at={rule.tripped_at} />: {tripWords(rule)}
    </p>
  );
}

/** `mode` null: the rule is new. */
function RuleActions({
  mode,
  isReady,
  isUnchanged,
  isBusy,
  onSave,
  onDelete,
}: {
  readonly mode: OwnRuleBody['mode'] | null;
  readonly isReady: boolean;
  readonly isUnchanged: boolean;
  readonly isBusy: boolean;
  readonly onSave: (mode: OwnRuleBody['mode'], done: string) => void;
  readonly onDelete: () => void;
}): JSX.Element {
  if (mode === null)
    return (
      <div class="button-row">
        <Button kind="primary" disabled={!isReady} onClick={() => onSave('observe', 'The rule is observed')}>
          Observe
        </Button>
      </div>
    );
  const isObserved = mode === 'observe';
  const done = isObserved ? 'The rule is observed' : 'The rule is changed';
  return (
    <div class="button-row">
      <Button disabled={!isReady || isUnchanged} onClick={() => onSave(mode, done)}>
        Save
      </Button>
      {isObserved ? (
        <Button kind="primary" disabled={!isReady} onClick={() => onSave('enforce', 'The rule is enforced')}>
          Enforce
        </Button>
      ) : (
        <Button disabled={!isReady} onClick={() => onSave('observe', 'The rule is only observed')}>
          Only observe
        </Button>
      )}
      <Button kind="danger" disabled={isBusy} onClick={onDelete}>
        Delete
      </Button>
    </div>
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
    </section>
  );
}
