/** Prints the ten slowest test files of a Vitest JSON report. */
import { readFileSync } from 'node:fs';

const [report = 'tests.json'] = process.argv.slice(2);
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const files = testResults.map(({ name, startTime, endTime, assertionResults }) => ({
  file: name.slice(process.cwd().length + 1),
  seconds: (endTime - startTime) / 1_000,
  tests: assertionResults.length,
}));
for (const { file, seconds, tests } of files.sort((a, b) => b.seconds - a.seconds).slice(0, 10))
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${String(tests).padStart(5)} tests  ${file}`);
