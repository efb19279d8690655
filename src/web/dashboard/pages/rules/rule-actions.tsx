import type { JSX } from 'preact';
import type { OwnRuleBody } from '../../../../contract/wire-types.ts';
import { Button } from '../../components/fields.tsx';

/** The buttons that write a rule. `mode` null: the rule is new. */
export function RuleActions({
  mode,
  isReady,
  isUnchanged,
  isBusy,
  hasProof,
  onSave,
  onDelete,
}: {
  readonly mode: OwnRuleBody['mode'] | null;
  readonly isReady: boolean;
  readonly isUnchanged: boolean;
  readonly isBusy: boolean;
  /** The condition was observed, or tried on the past. */
  readonly hasProof: boolean;
  readonly onSave: (mode: OwnRuleBody['mode'], done: string) => void;
  readonly onDelete: () => void;
}): JSX.Element {
  const isEnforced = mode === 'enforce';
  const save = (
    <Button
      kind={mode === null ? 'primary' : 'plain'}
      disabled={!isReady || isUnchanged}
      onClick={() => onSave(mode ?? 'observe', isEnforced ? 'The rule is changed' : 'The rule is observed')}
    >
      {mode === null ? 'Observe' : 'Save'}
    </Button>
  );
  const other = isEnforced ? (
    <Button disabled={!isReady} onClick={() => onSave('observe', 'The rule is only observed')}>
      Only observe
    </Button>
  ) : (
    <Button
      kind={mode === null ? 'plain' : 'primary'}
      disabled={!isReady}
      onClick={() => onSave('enforce', 'The rule is enforced')}
    >
      Enforce
    </Button>
  );
  return (
    <div class="stack">
      {isReady && !hasProof && !(isEnforced && isUnchanged) && (
        <p class="muted small">
          It was neither observed nor tried on the past: if you enforce it now, nothing says whom it touches, and no
          circuit breaker watches it.
        </p>
      )}
      <div class="button-row">
        {save}
        {other}
        {mode !== null && (
          <Button kind="danger" disabled={isBusy} onClick={onDelete}>
            Delete
          </Button>
        )}
      </div>
    </div>
  );
}
