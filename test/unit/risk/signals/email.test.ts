import { afterEach, describe, expect, it } from 'vitest';
import {
  isDisposable,
  isForwarder,
  looksGenerated,
  mailListsEpoch,
  parseEmail,
  readEmail,
  useMailLists,
} from '../../../../src/risk/signals/email.ts';
import type { MailDomainMarks } from '../../../../src/risk/signals/mail-domains.ts';

describe('parseEmail', () => {
  it.each([
    ['Anna.Schmidt+shop@GMX.de', { local: 'anna.schmidt', domain: 'gmx.de' }],
    [' a@b.co ', { local: 'a', domain: 'b.co' }],
    ['+tag@b.co', { local: '+tag', domain: 'b.co' }],
    ['jürgen@müller.de', { local: 'jürgen', domain: 'müller.de' }],
    ['ju\u0308rgen@mu\u0308ller.de', { local: 'jürgen', domain: 'müller.de' }],
    ['ｊｕｒｇｅｎ＠ｇｍｘ．ｄｅ', { local: 'jurgen', domain: 'gmx.de' }],
  ])('parseEmail parses the address "%s"', (text, expected) => expect(parseEmail(text)).toEqual(expected));
  it.each(['', 'a', 'a@b', '@b.co', 'a@', 'a b@c.de', 'a@b@c.de', `${'a'.repeat(65)}@b.co`, `a@${'b.'.repeat(200)}co`])(
    'parseEmail rejects "%s"',
    (text) => expect(parseEmail(text)).toBeNull(),
  );
  it('readEmail detects disposable and generated addresses', () => {
    expect(readEmail('42')).toBeNull();
    const ordinary = { disposable: false, free: false, generated: false };
    const plain = { text: 'a@b.co', spelling: 'a@b.co', canonical: 'a@b.co', registrable: 'b.co' };
    expect(readEmail('a@b.co')).toEqual({ local: 'a', domain: 'b.co', ...ordinary, ...plain });
    expect(readEmail('anna@mailinator.com')).toMatchObject({ disposable: true, generated: false });
    expect(readEmail('k3j9x2p1q7@b.co')).toMatchObject({ disposable: false, generated: true });
    expect(readEmail('k3j9x2p1q7@privaterelay.appleid.com')).toMatchObject(ordinary);
  });
});

describe('lists of mail domains', () => {
  const listed: Readonly<Record<string, MailDomainMarks>> = {
    'burner.example': { disposable: true, free: false },
    'free.example': { disposable: false, free: true },
    'duck.com': { disposable: true, free: false },
  };
  const find = (domain: string): MailDomainMarks | null => listed[domain] ?? null;
  afterEach(() => useMailLists(null));

  it('A change of the lists counts at once, for addresses that were read before, too', () => {
    const epoch = mailListsEpoch();
    expect(readEmail('a@mail.burner.example')).toMatchObject({ disposable: false });
    expect(readEmail('a@free.example')).toMatchObject({ free: false });
    useMailLists({ find, withBuiltIn: false });
    expect(mailListsEpoch()).toBeGreaterThan(epoch);
    expect(readEmail('a@mail.burner.example')).toMatchObject({ disposable: true, free: false });
    expect(readEmail('a@free.example')).toMatchObject({ disposable: false, free: true });
    expect(readEmail('a@mailinator.com')).toMatchObject({ disposable: false });
    useMailLists({ find, withBuiltIn: true });
    expect(readEmail('a@mailinator.com')).toMatchObject({ disposable: true });
  });

  it('A subdomain of a free provider is not free, and a forwarding service is never disposable', () => {
    useMailLists({ find, withBuiltIn: false });
    expect(readEmail('a@shop.free.example')).toMatchObject({ free: false });
    expect(readEmail('a@duck.com')).toMatchObject({ disposable: false });
  });
});

describe('domains', () => {
  it.each(
    'gmail.com googlemail.com outlook.com hotmail.com live.com yahoo.com yahoo.co.jp icloud.com me.com aol.com gmx.de gmx.net web.de t-online.de freenet.de posteo.de mailbox.org orange.fr free.fr laposte.net sfr.fr libero.it virgilio.it wp.pl o2.pl onet.pl seznam.cz mail.ru yandex.ru rambler.ru ukr.net qq.com 163.com 126.com naver.com daum.net hanmail.net docomo.ne.jp rediffmail.com uol.com.br bol.com.br terra.com.br comcast.net att.net verizon.net btinternet.com proton.me protonmail.com tutanota.com fastmail.com zoho.com hey.com simplelogin.com duck.com mozmail.com'.split(
      ' ',
    ),
  )('The mail domain %s is not disposable', (domain) => expect(isDisposable(domain)).toBe(false));
  it.each(['mailinator.com', 'guerrillamail.com', '10minutemail.com', 'yopmail.com', 'a.b.yopmail.com'])(
    'The mail domain %s is disposable',
    (domain) => expect(isDisposable(domain)).toBe(true),
  );
  it('Forwarding services are recognised, including their subdomains', () => {
    expect(isForwarder('privaterelay.appleid.com')).toBe(true);
    expect(isForwarder('me.anonaddy.com')).toBe(true);
    expect(isForwarder('appleid.com')).toBe(false);
  });
});

/** Local parts of real people, with names from about forty languages, with initials, years, abbreviations and leet. */
const PEOPLE =
  'anna.schmidt jsmith1985 j.r.r.tolkien mhmdabdlrhmn abdlrhmn.alqhtny wszczebrzeszynski krzysztof.brzeczyszczykiewicz szczepanski grzegorz92 przemyslaw.wrzesniewski jpschmidt rdschwartzkopf hirschsprung knightsbridge.l schwarzschild vlkcrnkrk strpljivost brzobohaty scvrkl.jan nguyenthiphuong tranvankhoa90 phamquynhtrang zhangxiaoqing xuxiaojing qiuzhenzhong wangxq1990 lixj.shanghai zhaoyx zjxlwq1988 oyvind.bjornstad kjellhjalmarsson bjorkgudmundsdottir thorbjorghjalmarsdottir ozturkgulsah yagmurkilicdaroglu fatmanurcelik abdulrahmankhalid qasimqureshi qamaruzzaman iqraqureshi muhammadxusen venkataraghavan srinivasankrishnamurthy tvkprasad mvsrkrishna nguyenngocquynhnhu papadopoulosgk christoskyriakopoulos dzhakhangirov yevgeniyshcherbakov shchukin.vyacheslav zhdanovskyy hrytsenkov mykhailyshyn kvashchenko jozsefnemeth szilvasszymagdolna gyongyverkovacs nagyzsuzsannamaria kszymon89 taavetijaaskelainen jyrkikatainen vaino.hyvonen mcglynnsiobhan caoimhebhreathnach llewelynapgwynfor llywelynrhys cwmystwyth gwrhydllywd txomin.etxeberria xabierzubizarreta xoxexerez joaquimpxavier fjxrodriguez joaoguilhermexavier mbappekylian nkwachukwuobi ngozichukwukadibia kgomotsomkhwanazi nxumalosiphiwe mqhayiqhawe bhekizizwemthethwa tsvangirai ssempijjakyagulanyi kamehamehaholokai tuimalealiifano rarotongamanuia kimjungkwon parkhjh7942 choi.sj88 hjkim2001 tanakahiroyuki0412 yamamototsubasa fujiwara.kk m4r14n0 d4rkm4g1c14n k3v1n r0b3rt0s4nt0s l33tg4m3r mike4u2 john2b4me a1b2c3 bmwclubsport fcbmunchen1900 hsvfan1887 vfbstuttgart tsgwvl info office bestellung1 kundenservice sales2026 no-reply contact.us maxmustermann1990 ivan_petrov_1987 sofia-lopez.92 mtb4life xx_gamer_xx 13579 8613800138000 491701234567 rjdt1975 pdxgrrl dbldck hmmmmm zzzzzzzzzz aaaaaaaaaaaa qwertyuiop123'.split(
    ' ',
  );

/** Park and Miller's generator: the same texts in every run. */
function share(alphabet: string): number {
  let state = 42;
  let found = 0;
  for (let i = 0; i < 2_000; i++) {
    let local = '';
    while (local.length < 12) {
      state = (state * 48_271) % 2_147_483_647;
      local += alphabet.charAt(state % alphabet.length);
    }
    if (looksGenerated(local)) found++;
  }
  return found / 2_000;
}

describe('looksGenerated', () => {
  it.each(PEOPLE)('The local part %s of a person does not look generated', (local) =>
    expect(looksGenerated(local)).toBe(false),
  );
  it.each([
    'k3j9x2p1q7',
    'a8f3k2l9q0z',
    'xqzjvkwpfq',
    'd41d8cd98f00b204e9800998ecf8427e',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  ])('The local part %s looks generated', (local) => expect(looksGenerated(local)).toBe(true));

  // Forms of Indian, American, Australian and European universities.
  it.each(
    '21bce1234 2019cs10345 1rv19cs045 4nm21cs101 1ms20is045 20bd1a0512 19l31a0512 17103a0045 2019b4a70123p f20190123 s1234567 b00123456 u2019cs101 21ucs123 r19cs123 cs19b1023 ee18btech11024 18je0123 2k19co123 3122213001 n10234567 z5123456 m.20cs1045 20-bce-1234 b20cs1234 21mis0045 rg2021cs1034'.split(
      ' ',
    ),
  )('The number %s of a student does not look generated', (local) => expect(looksGenerated(local)).toBe(false));

  it('looksGenerated detects most random texts', () => {
    const letters = share('abcdefghijklmnopqrstuvwxyz');
    const mixed = share('abcdefghijklmnopqrstuvwxyz0123456789');
    console.info(`random local parts found: letters ${letters}, letters and digits ${mixed}`);
    expect(letters).toBeGreaterThan(0.4);
    expect(mixed).toBeGreaterThan(0.6);
  });
});
