/* { "does": "hash objects take several updates and can be read in any encoding", "console": ["true true"] } */
import crypto, { createHash, createHMAC } from 'k6/crypto';
export default function () {
  const hash = createHash('sha256');
  hash.update('a'); hash.update('bc');
  const mac = createHMAC('sha1', 'key');
  mac.update('abc');
  console.log(hash.digest('hex') === crypto.sha256('abc', 'hex'), mac.digest('base64') === crypto.hmac('sha1', 'key', 'abc', 'base64'));
}
