/* { "does": "keyed hashes, at once and in pieces (RFC 4231, case 2)", "console": ["true true true"] } */
import crypto from 'k6/crypto';
export default function () {
  const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
  const once = crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'hex');
  const hasher = crypto.createHMAC('sha256', 'Jefe');
  hasher.update('what do ya want ');
  hasher.update('for nothing?');
  console.log(once === expected, hasher.digest('hex') === expected, hasher.digest('hex') === expected);
}
