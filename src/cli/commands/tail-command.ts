import { InvalidArgumentError, Option } from 'commander';
import { DECISIONS } from '../../contract/vocabulary.ts';
import { addApiOptions, type ApiOptions, openApi } from '../api-access.ts';
import type { CommandError } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { followDecisions, type LoggedRow } from '../follow-decisions.ts';
import { forTerminal } from '../terminal-text.ts';
import { timeText } from '../text-table.ts';

interface TailOptions extends ApiOptions {
  readonly decision?: string;
  readonly reason?: string;
  readonly eventType?: string;
  readonly lines: number;
}

/** Choice: a screen of recent decisions, to see that something happens at all. */
const LINES_DEFAULT = 10;
const LINES_MAX = 100;

export function addTail(cli: Cli): void {
  addApiOptions(
    cli.program
      .command('tail')
      .description('follow the decisions, one line for each, until Ctrl-C; with --json one object a line')
      .addOption(new Option('--decision <decision>', 'only these').choices(DECISIONS))
      .option('--reason <code>', 'only decisions with this reason')
      .option('--event-type <type>', 'only events of this type')
      .option('--lines <n>', `begin with the last n decisions, up to ${LINES_MAX}`, parseLines, LINES_DEFAULT),
  ).action(async (options: TailOptions) => {
    const fault = await tail(cli, options);
    if (fault !== null) await cli.run(() => Promise.resolve(fault));
  });
}

/** Returns why it ended; null if it was stopped. */
async function tail(cli: Cli, options: TailOptions): Promise<CommandError | null> {
  const { io } = cli;
  const opened = await openApi(cli, options);
  if (opened.kind === 'error') return opened;
  const { json } = cli.globals();
  const following = followDecisions({
    api: opened.api,
    filter: {
      ...(options.decision !== undefined && { decision: options.decision }),
      ...(options.reason !== undefined && { reason: options.reason }),
      ...(options.eventType !== undefined && { event_type: options.eventType }),
    },
    before: options.lines,
    stop: io.stopSignal(),
    onTrouble: (trouble) => io.write(2, `${trouble?.message ?? 'connected again'}\n`),
  });
  for (;;) {
    const step = await following.next();
    if (step.done === true) return step.value;
    io.write(1, `${forTerminal(json ? JSON.stringify(step.value) : lineOf(step.value))}\n`);
  }
}

/** Columns of the widest decision, SOFT_CHALLENGE. */
const DECISION_COLUMNS = 14;

function lineOf(row: LoggedRow): string {
  const { would_be: wouldBe, score, event_type: eventType, reasons } = row;
  const decision = wouldBe === undefined ? row.decision : `${row.decision} (${wouldBe})`;
  return [
    timeText(row.occurred_at),
    decision.padEnd(DECISION_COLUMNS),
    score.toFixed(1).padStart(5),
    row.request_id,
    [row.ip ?? '-', row.country ?? '-', eventType || '-', row.path ?? '-'].join(' '),
    reasons.join(','),
  ]
    .join('  ')
    .trimEnd();
}

function parseLines(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : LINES_MAX + 1;
  if (value > LINES_MAX) throw new InvalidArgumentError(`a whole number from 0 to ${LINES_MAX}`);
  return value;
}
