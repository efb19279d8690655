import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { OwnRuleBody } from '../../../../contract/wire-types.ts';
import { Button } from '../../components/fields.tsx';

interface RuleActionsProps {
  /** Null: the rule is new. */
  readonly mode: OwnRuleBody['mode'] | null;
  /** Why it cannot be saved; null if it can. */
  readonly notReady: string | null;
  readonly isUnchanged: boolean;
  readonly isBusy: boolean;
  /** The condition was observed, or tried on the past. */
  readonly hasProof: boolean;
  /** A backtest of the rule is running. */
  readonly isTried: boolean;
  /** The rule is enforced without a prediction, and a backtest has found one. */
  readonly canPredict: boolean;
  readonly onSave: (mode: OwnRuleBody['mode'], done: string) => void;
  readonly onDelete: () => void;
}

/** The buttons that write a rule. */
export function RuleActions(props: RuleActionsProps): JSX.Element {
  const { mode, notReady, isUnchanged, isBusy, canPredict, onSave, onDelete } = props;
  const id = useId();
  const note = noteOf(props);
  const isEnforced = mode === 'enforce';
  const isReady = notReady === null && !isBusy;
  const save = (
    <Button
      kind={mode === null || canPredict ? 'primary' : 'plain'}
      disabled={!isReady || (isUnchanged && !canPredict)}
      aria-describedby={id}
      onClick={() => onSave(mode ?? 'observe', isEnforced ? 'The rule is changed' : 'The rule is observed')}
    >
      {mode === null ? 'Observe' : canPredict ? 'Save with the prediction' : 'Save'}
    </Button>
  );
  const other = isEnforced ? (
    <Button disabled={!isReady} aria-describedby={id} onClick={() => onSave('observe', 'The rule is only observed')}>
      Only observe
    </Button>
  ) : (
    <Button
      kind={mode === null ? 'plain' : 'primary'}
      disabled={!isReady}
      aria-describedby={id}
      onClick={() => onSave('enforce', 'The rule is enforced')}
    >
      Enforce
    </Button>
  );
  return (
    <div class="stack">
      {note !== null && (
        <p id={id} class="muted small">
          {note}
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

function noteOf({ mode, notReady, isUnchanged, hasProof, isTried, canPredict }: RuleActionsProps): string | null {
  if (notReady !== null) return notReady;
  if (canPredict)
    return 'No circuit breaker watches the rule. Save what the backtest found as its prediction, and one does.';
  const isEnforced = mode === 'enforce' && isUnchanged;
  if (isTried) {
    const goesOn = 'The backtest goes on with the rule as it was when it began, also when you save the rule now.';
    if (isEnforced || hasProof) return goesOn;
    return `${goesOn} If you enforce it before the result, no circuit breaker watches it until you save it with the prediction.`;
  }
  if (hasProof || isEnforced) return null;
  return 'It was neither observed nor tried on the past: if you enforce it now, nothing says whom it touches, and no circuit breaker watches it.';
}
