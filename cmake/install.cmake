# Installs the library, its headers and the command, and a package config that finds its dependencies.
