import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** One command and what may follow it on the command line. */
interface Place {
  /** Its words, separated by a space; '' for the program itself. */
  readonly path: string;
  readonly subcommands: readonly string[];
  readonly options: readonly CompletedOption[];
  /** Values of its arguments, where they are known. */
  readonly values: readonly string[];
}

interface CompletedOption {
  readonly flag: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Empty if any value is possible; a file is then proposed. */
  readonly values: readonly string[];
}

/** Returns a script that completes the commands of `program`, with all their options, in the language of a shell. */
export function completionScript(shell: Shell, program: Command): string {
  const places = placesOf(program);
  switch (shell) {
    case 'bash':
      return bashScript(places);
    case 'zsh':
      return zshScript(places);
    case 'fish':
      return fishScript(places);
  }
}

function placesOf(program: Command): readonly Place[] {
  const shared = optionsOf(program);
  const walk = (command: Command, words: readonly string[]): readonly Place[] => {
    const own: Place = {
      path: words.join(' '),
      subcommands: command.commands.map((one) => one.name()),
      options: [...(command === program ? [] : optionsOf(command)), ...shared],
      values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    };
    return [own, ...command.commands.flatMap((one) => walk(one, [...words, one.name()]))];
  };
  return walk(program, []);
}

function optionsOf(command: Command): readonly CompletedOption[] {
  const own = command.options.flatMap(({ long, description, required, optional, argChoices = [] }) =>
    typeof long === 'string' ? [{ flag: long, description, takesValue: required || optional, values: argChoices }] : [],
  );
  return [...own, { flag: '--help', description: 'show the help', takesValue: false, values: [] }];
}

/** All completions of a place, separated by a space. None of them contains one. */
function wordsOf({ subcommands, values, options }: Place): string {
  return [...subcommands, ...values, ...options.map(({ flag }) => flag)].join(' ');
}

/** Quotes for all three shells. Names of commands and flags contain nothing that needs more. */
function quote(text: string): string {
  return `'${text}'`;
}

/** Branches of a `case` that read the words before the cursor: they find the command. */
function pathBranch(places: readonly Place[]): string {
  return places.flatMap(({ path }) => (path === '' ? [] : [quote(path)])).join('|');
}

function valueBranches(places: readonly Place[], propose: (words: string) => string, files: string): readonly string[] {
  return places.flatMap(({ path, options }) => {
    const chosen = options.filter(({ values }) => values.length > 0);
    const free = options.filter(({ takesValue, values }) => takesValue && values.length === 0);
    return [
      ...chosen.map(({ flag, values }) => `    ${quote(`${path}|${flag}`)}) ${propose(values.join(' '))}; return ;;`),
      ...(free.length === 0
        ? []
        : [`    ${free.map(({ flag }) => quote(`${path}|${flag}`)).join('|')}) ${files}; return ;;`]),
    ];
  });
}

function proposeInBash(words: string): string {
  return `COMPREPLY=($(compgen -W ${quote(words)} -- "$cur"))`;
}

function bashScript(places: readonly Place[]): string {
  return [
    '# Completion of gatehouse for bash: source <(gatehouse completion bash)',
    '_gatehouse() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="" word',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    `    case "\${at:+$at }$word" in ${pathBranch(places)}) at="\${at:+$at }$word" ;; esac`,
    '  done',
    '  case "$at|$prev" in',
    ...valueBranches(places, proposeInBash, 'COMPREPLY=($(compgen -f -- "$cur"))'),
    '  esac',
    '  case "$at" in',
    ...places.map((place) => `    ${quote(place.path)}) ${proposeInBash(wordsOf(place))} ;;`),
    '  esac',
    '}',
    'complete -o default -F _gatehouse gatehouse',
    '',
  ].join('\n');
}

function proposeInZsh(words: string): string {
  return `compadd -- ${words}`;
}

function zshScript(places: readonly Place[]): string {
  return [
    '#compdef gatehouse',
    '# Completion of gatehouse for zsh: source <(gatehouse completion zsh), after compinit',
    '_gatehouse() {',
    '  local at="" word',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    `    case "\${at:+$at }$word" in ${pathBranch(places)}) at="\${at:+$at }$word" ;; esac`,
    '  done',
    '  case "$at|${words[CURRENT-1]}" in',
    ...valueBranches(places, proposeInZsh, '_files'),
    '  esac',
    '  case "$at" in',
    ...places.map((place) => `    ${quote(place.path)}) ${proposeInZsh(wordsOf(place))} ;;`),
    '  esac',
    '}',
    'compdef _gatehouse gatehouse',
    '',
  ].join('\n');
}

function completeAt(path: string): string {
  return `complete -c gatehouse -n "__gatehouse_at ${quote(path)}"`;
}

function fishScript(places: readonly Place[]): string {
  const paths = places.flatMap(({ path }) => (path === '' ? [] : [quote(path)])).join(' ');
  return [
    '# Completion of gatehouse for fish: gatehouse completion fish | source',
    'function __gatehouse_at',
    "  set -l at ''",
    '  for word in (commandline -opc)[2..-1]',
    '    set -l longer (string trim -- "$at $word")',
    `    if contains -- "$longer" ${paths}`,
    '      set at $longer',
    '    end',
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
    ...places.flatMap(({ path, subcommands, values, options }) => [
      ...(subcommands.length + values.length === 0
        ? []
        : [`${completeAt(path)} -f -a ${quote([...subcommands, ...values].join(' '))}`]),
      ...options.map(({ flag, description, takesValue, values: chosen }) =>
        [
          `${completeAt(path)} -l ${flag.slice(2)}`,
          ...(chosen.length > 0 ? [`-x -a ${quote(chosen.join(' '))}`] : takesValue ? ['-r'] : []),
          `-d "${description.replaceAll(/["\\$`]/g, '\\$&')}"`,
        ].join(' '),
      ),
    ]),
    '',
  ].join('\n');
}
