/* { "does": "the SHA-2 family has the right lengths and known beginnings", "console": ["sha384 54a59b9f 96", "sha512 1f40fc92 128", "sha512_224 d5cdb9cc 56", "sha512_256 455e518824bc 64"] } */
import crypto from 'k6/crypto';
export default function () {
  for (const [name, count] of [['sha384', 8], ['sha512', 8], ['sha512_224', 8], ['sha512_256', 12]]) {
    const hex = crypto[name]('a', 'hex');
    console.log(name, hex.slice(0, count), hex.length);
  }
}
