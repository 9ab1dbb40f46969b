# Evaluates a formula without Homebrew: homebrew.rb FORMULA TARBALLS PREFIX
#
# A stand-in for Homebrew's class Formula records the URLs and checksums for each architecture. For x86-64, it then
# verifies and unpacks the tarball in the folder TARBALLS, installs it to PREFIX, and runs the formula's test.
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

# Homebrew's `Pathname#install`: copies files, or renames them if given a hash.
class Pathname
  def install(*sources)
    mkpath
    sources.flatten.each do |source|
      pairs = source.is_a?(Hash) ? source : { source => File.basename(source) }
      pairs.each { |from, to| FileUtils.cp(from, self / to, preserve: true) }
    end
  end
end

class Formula
  ARCHIVES = {}
  FACTS = {}
  class << self
    %i[desc homepage version license].each do |name|
      define_method(name) { |value = nil| value ? FACTS[name] = value : FACTS.fetch(name) }
    end
    def depends_on(*) = nil
    def on_linux = yield
    def on_intel = on(:intel) { yield }
    def on_arm = on(:arm) { yield }
    def url(value) = ARCHIVES[@cpu][:url] = value
    def sha256(value) = ARCHIVES[@cpu][:sha256] = value
    def test(&block) = define_method(:run_test, &block)

    def on(cpu)
      @cpu = cpu
      ARCHIVES[cpu] = {}
      yield
    end
  end

  def version = FACTS.fetch(:version)
  def prefix = Pathname.new(ARGV.fetch(2))
  def bin = prefix / "bin"
  def man1 = prefix / "share/man/man1"
  def bash_completion = prefix / "etc/bash_completion.d"
  def zsh_completion = prefix / "share/zsh/site-functions"
  def fish_completion = prefix / "share/fish/vendor_completions.d"

  def shell_output(command)
    output = `#{command}`
    raise "`#{command}` failed" unless $?.success?
    output
  end

  def assert_equal(expected, actual)
    raise "expected #{expected.inspect}, found #{actual.inspect}" unless expected == actual
  end
end

load File.expand_path(ARGV.fetch(0))
tarballs = File.expand_path(ARGV.fetch(1))
Formula::ARCHIVES.each_value do |archive|
  file = File.join(tarballs, File.basename(archive.fetch(:url)))
  raise "#{file} has another checksum" unless Digest::SHA256.file(file).hexdigest == archive.fetch(:sha256)
end
raise "architectures: #{Formula::ARCHIVES.keys}" unless Formula::ARCHIVES.keys == %i[intel arm]
ARGV[2] = File.expand_path(ARGV[2])
Dir.mktmpdir do |folder|
  file = File.join(tarballs, File.basename(Formula::ARCHIVES[:intel][:url]))
  system("tar", "--extract", "--gzip", "--file", file, "--directory", folder, exception: true)
  # Homebrew enters the only folder of an archive.
  Dir.chdir(Dir.glob("#{folder}/*").first) { Cocoaskills.new.install }
end
Cocoaskills.new.run_test
