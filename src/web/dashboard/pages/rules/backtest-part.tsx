import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { BacktestBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, toFault } from '../../api.ts';
import { Button, Select } from '../../components/fields.tsx';
import { FaultView, Skeleton } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, formatCount, formatPercent, formatSeconds } from '../../format.ts';
import { now } from '../../now.ts';
import { visibleText } from '../../visible-text.ts';
import { BacktestFigures } from './backtest-figures.tsx';
import { isBacktestPending, type ShownBacktest, startBacktest } from './use-backtest.ts';
import type { Proof } from './use-proof.ts';

const DAY_SECONDS = 86_400;
const DAYS = [1, 7, 14, 30, 60, 90];
const USUAL_DAYS = 14;

/** What a rule would have done on logged requests: start a backtest, follow it, read its result. */
export function BacktestPart({
  code,
  rules,
  notReady,
  logDays,
  proof: { shown, isRunning, olderFrom, onStarted },
}: {
  readonly code: string;
  /** All rules of the API as they would be with this one. */
  readonly rules: readonly object[];
  /** Why the rule cannot be tried; null if it can. */
  readonly notReady: string | null;
  /** Days for which requests are kept; undefined while that is not known. */
  readonly logDays: number | undefined;
  readonly proof: Proof;
}): JSX.Element {
  const [days, setDays] = useState<string | null>(null);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [isStarting, setStarting] = useState(false);
  const reasonId = useId();
  const section = useRef<HTMLElement>(null);
  const wasRunning = useRef(false);
  useEffect(() => {
    // The result is longer than what stood there. A person who went on to a field stays there.
    const isHere = document.activeElement === document.body || section.current?.contains(document.activeElement);
    if (wasRunning.current && !isRunning && isHere) section.current?.scrollIntoView({ block: 'nearest' });
    wasRunning.current = isRunning;
  }, [isRunning]);
  const choices = DAYS.filter((count) => count < (logDays ?? 0)).concat(logDays ?? []);
  const chosen = days ?? String(Math.min(USUAL_DAYS, logDays ?? 0));
  const start = async (): Promise<void> => {
    setStarting(true);
    setFault(null);
    try {
      onStarted(await startBacktest(rules, now.value - Number(chosen) * DAY_SECONDS));
    } catch (error) {
      setFault(toFault(error));
    }
    setStarting(false);
  };
  return (
    <section aria-label="What it would have done" class="stack backtest" ref={section}>
      <h3>What it would have done</h3>
      {logDays === 0 && <NoLog />}
      {logDays !== undefined && logDays > 0 && (
        <div class="row backtest-start">
          <Select
            label="Days"
            labelHidden
            value={chosen}
            onValue={setDays}
            choices={choices.map((count) => ({
              value: String(count),
              title: count === 1 ? 'the last day' : `the last ${count} days`,
            }))}
            disabled={isRunning}
          />
          <Button
            disabled={notReady !== null || isRunning || isStarting}
            aria-describedby={reasonId}
            onClick={() => void start()}
          >
            Try it on the past
          </Button>
        </div>
      )}
      {logDays !== undefined && logDays > 0 && notReady !== null && !isRunning && (
        <p id={reasonId} class="muted small">
          {notReady}
        </p>
      )}
      {fault !== null && <FaultView fault={fault} />}
      {shown !== null && <Progress code={code} shown={shown} />}
      {olderFrom !== null && shown !== null && shown.job !== null && (
        <p class="notice">
          {isRunning ? 'It tries' : 'This is the result of'} the version from <Time at={olderFrom} />: the rule was
          changed since.{isRunning ? '' : ' Try it again.'}
        </p>
      )}
    </section>
  );
}

function NoLog(): JSX.Element {
  return (
    <p class="text muted">
      Requests are not kept here, so a rule cannot be tried on the past. The operator switches that on in the policy
      file: <code>{'"log_requests": "14d"'}</code>. Until then, observe the rule for a day.
    </p>
  );
}

function Progress({ code, shown }: { readonly code: string; readonly shown: ShownBacktest }): JSX.Element {
  const { job, fault, retry } = shown;
  if (fault?.status === 404)
    return <p class="notice">The server does not know this backtest any more: it was restarted. Try it again.</p>;
  if (fault !== null) return <FaultView fault={fault} retry={retry} />;
  if (job === null) return <Skeleton form="text" />;
  if (isBacktestPending(job)) return <Running job={job} shown={shown} />;
  if (job.status === 'failed')
    return (
      <p class="notice" role="alert">
        It failed{job.detail === undefined ? '' : `: ${visibleText(job.detail)}`}. Try it again; the log of the server
        may say more.
      </p>
    );
  return (
    <>
      {job.status === 'cancelled' && (
        <p class="notice">
          It was cancelled
          {job.events === undefined
            ? ' before it began.'
            : `: these are the first ${formatPercent(job.progress)} of the log.`}
        </p>
      )}
      {job.events !== undefined && <BacktestFigures code={code} job={job} />}
    </>
  );
}

function Running({ job, shown }: { readonly job: BacktestBody; readonly shown: ShownBacktest }): JSX.Element {
  const { rate, secondsLeft, cancel } = shown;
  const pace = rate === null ? '' : `, ${formatCount(Math.round(rate))} a second`;
  const left = secondsLeft === null ? '' : `, about ${formatSeconds(secondsLeft)} left`;
  return (
    <div class="stack">
      <progress class="progress" max={1} value={job.progress} aria-label="Backtest" />
      <div class="row spread">
        <span class="muted small" role="status">
          {job.status === 'queued'
            ? 'Waiting for another backtest to end.'
            : `${countOf(job.replayed, 'request')} decided again${pace}${left}`}
        </span>
        <Button small onClick={cancel}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
